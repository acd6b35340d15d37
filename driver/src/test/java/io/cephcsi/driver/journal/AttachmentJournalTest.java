package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.Attachment;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class AttachmentJournalTest {
  private static final VolumeId ID = new VolumeId("c", 1, new UUID(1, 2));
  private static final Attachment WRITER =
      new Attachment("node-1", false, "SINGLE_NODE_WRITER", "mount");

  private static Attachment on(String node, boolean readonly, String mode) {
    return new Attachment(node, readonly, mode, "block");
  }

  @Test
  void theRecordIsReadBackAmongOtherKeys() {
    assertThat(new String(AttachmentJournal.encode(WRITER), UTF_8))
        .isEqualTo("{\"readonly\":false,\"mode\":\"SINGLE_NODE_WRITER\",\"access\":\"mount\"}");
    assertThat(AttachmentJournal.key(WRITER.nodeId())).isEqualTo("csi.java.publish.node-1");
    JournalEntry entry =
        new JournalEntry(
            new UUID(1, 2),
            "pvc",
            "csi-vol",
            Map.of(
                "csi.volname",
                "pvc",
                "csi.java.publish",
                "generation",
                AttachmentJournal.key(WRITER.nodeId()),
                new String(AttachmentJournal.encode(WRITER), UTF_8),
                "csi.java.publish.a.node",
                "what no version of this driver wrote"));
    assertThat(AttachmentJournal.of(entry))
        .containsExactly(new Attachment("a.node", false, "SINGLE_NODE_WRITER", "mount"), WRITER);
  }

  @Test
  void theSameAgainIsFine() {
    assertThat(WRITER.requireCompatible(ID, List.of())).isEmpty();
    assertThat(WRITER.requireCompatible(ID, List.of(WRITER))).contains(WRITER);
  }

  @Test
  void theSameNodeInAnotherWayAlreadyExists() {
    assertRefused(
        Reason.ALREADY_EXISTS,
        new Attachment("node-1", true, "SINGLE_NODE_WRITER", "mount"),
        WRITER);
    assertRefused(
        Reason.ALREADY_EXISTS,
        new Attachment("node-1", false, "SINGLE_NODE_SINGLE_WRITER", "mount"),
        WRITER);
  }

  @Test
  void aSecondNodeNeedsAMultiNodeModeOnBoth() {
    Attachment multi = on("node-2", false, "MULTI_NODE_MULTI_WRITER");
    assertRefused(Reason.FAILED_PRECONDITION, multi, WRITER);
    assertRefused(Reason.FAILED_PRECONDITION, WRITER, multi);
    assertThat(multi.requireCompatible(ID, List.of(on("node-1", false, "MULTI_NODE_MULTI_WRITER"))))
        .isEmpty();
  }

  @Test
  void ofMultiNodeSingleWriterOneWritesAndOthersRead() {
    Attachment writer = on("node-1", false, "MULTI_NODE_SINGLE_WRITER");
    assertRefused(
        Reason.FAILED_PRECONDITION, on("node-2", false, "MULTI_NODE_SINGLE_WRITER"), writer);
    assertThat(
            on("node-2", true, "MULTI_NODE_SINGLE_WRITER").requireCompatible(ID, List.of(writer)))
        .isEmpty();
  }

  private static void assertRefused(Reason reason, Attachment wanted, Attachment present) {
    assertThatThrownBy(() -> wanted.requireCompatible(ID, List.of(present)))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(reason))
        .hasMessageContaining(present.nodeId());
  }
}
