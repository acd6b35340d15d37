package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.reclaim.fs.ContentNode;
import io.cephcsi.driver.reclaim.fs.FileSystemKind;
import io.cephcsi.driver.reclaim.fs.RefusalReason;
import io.cephcsi.driver.volume.Json;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ContentOutputTest {
  private static final int MIB = 1 << 20;

  private static ContentNode node(
      String name, FileSystemKind kind, long offset, long free, ContentNode... parts) {
    return new ContentNode(name, kind, offset, 8 * MIB, free, Optional.empty(), "", List.of(parts));
  }

  private static final ContentNode TREE =
      node(
          "",
          FileSystemKind.GPT,
          0,
          3 * MIB,
          node("partition 1", FileSystemKind.FAT, MIB, MIB),
          new ContentNode(
              "partition 2",
              FileSystemKind.LUKS,
              9 * MIB,
              MIB,
              0,
              Optional.of(RefusalReason.ENCRYPTED),
              "the device holds LUKS encryption",
              List.of()),
          node(
              "partition 3",
              FileSystemKind.LVM2,
              10 * MIB,
              2 * MIB,
              node("vg/root", FileSystemKind.XFS, 11 * MIB, 2 * MIB)));

  private static String table(ContentNode content) {
    StringWriter text = new StringWriter();
    ContentOutput.table(new PrintWriter(text, true), content);
    return text.toString();
  }

  @Test
  void printsALineForEachPart() {
    assertThat(table(TREE).lines())
        .containsExactly(
            "  a GPT partition table at 0 B, 8.0 MiB, free 3.0 MiB",
            "    partition 1: FAT at 1.0 MiB, 8.0 MiB, free 1.0 MiB",
            "    partition 2: LUKS encryption at 9.0 MiB, 1.0 MiB, not trimmed: encrypted"
                + " (the device holds LUKS encryption)",
            "    partition 3: an LVM2 physical volume at 10.0 MiB, 8.0 MiB, free 2.0 MiB",
            "      vg/root: XFS at 11.0 MiB, 8.0 MiB, free 2.0 MiB");
  }

  @Test
  void printsNothingForAnImageWithoutParts() {
    assertThat(table(node("", FileSystemKind.EXT4, 0, MIB))).isEmpty();
  }

  @Test
  void programsGetBytesAndWords() {
    ObjectNode json = Json.mapper().createObjectNode();
    ContentOutput.json(json, TREE);
    assertThat(json.toString())
        .isEqualTo(
            """
            {"kind":"gpt","offset":0,"sizeBytes":8388608,"freeBytes":3145728,"parts":[\
            {"name":"partition 1","kind":"fat","offset":1048576,"sizeBytes":8388608,\
            "freeBytes":1048576},\
            {"name":"partition 2","kind":"luks","offset":9437184,"sizeBytes":1048576,\
            "notReclaimable":"encrypted","detail":"the device holds LUKS encryption"},\
            {"name":"partition 3","kind":"lvm2","offset":10485760,"sizeBytes":8388608,\
            "freeBytes":2097152,"parts":[{"name":"vg/root","kind":"xfs","offset":11534336,\
            "sizeBytes":8388608,"freeBytes":2097152}]}]}""");
  }
}
