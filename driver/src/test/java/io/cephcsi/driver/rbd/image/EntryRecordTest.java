package io.cephcsi.driver.rbd.image;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.journal.JournalEntry;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EntryRecordTest {
  private static final UUID ID = UUID.randomUUID();

  private static EntryRecord record(Map<String, String> attributes) {
    return EntryRecord.of(new JournalEntry(ID, "pvc \"ü\"", "csi-vol-" + ID, attributes));
  }

  @Test
  void whatIsKeptIsReadAgain() {
    EntryRecord record =
        record(
            Map.of(
                "csi.volume.owner", "tenant-a",
                "csi.volume.encryptKMS", "vault",
                "csi.volume.encryptionType", "block"));
    assertThat(EntryRecord.parse(record.toJson())).contains(record);
    assertThat(record.attributes()).hasSize(3);
    assertThat(record.requestName()).isEqualTo("pvc \"ü\"");
  }

  /** The id of the image, the pool of the journal and nodes are those of the site. */
  @Test
  void whatHoldsForOneSiteAloneIsNotKept() {
    EntryRecord record =
        record(
            Map.of(
                "csi.imageid", "1",
                "csi.journalpool", "0000000000000007",
                "csi.java.publish.node", "x",
                "csi.groupid", "g",
                "csi.volume.owner", "t"));
    assertThat(record.attributes()).containsOnlyKeys("csi.volume.owner");
  }

  @Test
  void keysThatNoDriverKeepsAreNotRead() {
    assertThat(
            EntryRecord.parse(
                "{\"name\":\"n\",\"image\":\"i\",\"csi.imageid\":\"7\",\"csi.volume.owner\":\"o\","
                    + "\"csi.volume.encryptKMS\":[\"list\"]}"))
        .contains(new EntryRecord("n", "i", Map.of("csi.volume.owner", "o")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "no json",
        "[]",
        "\"text\"",
        "{}",
        "{\"name\":\"n\"}",
        "{\"image\":\"i\"}",
        "{\"name\":\"\",\"image\":\"i\"}",
        "{\"name\":{},\"image\":\"i\"}",
        "{\"name\":\"n\",\"image\":\"i\""
      })
  void whatNoDriverWritesIsNoRecord(String json) {
    assertThat(EntryRecord.parse(json)).isEmpty();
  }
}
