package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.cephcsi.driver.cephfs.DeletedNames.Deleted;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.encryption.KeyAccess;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class FirstPinTest {
  private final List<String> sent = new ArrayList<>();

  /** As with a manager whose client is blocklisted, or that does not answer. */
  private OpenFileSystem unasked() {
    SubvolumeAdmin admin =
        new SubvolumeAdmin(
            command -> {
              sent.add(command.toString());
              throw new VolumeException(Reason.UNAVAILABLE, "not asked");
            },
            "cephfs",
            "csi");
    return new OpenFileSystem(
        null,
        new FileSystemInfo(1, "cephfs", 2, List.of(3L)),
        null,
        admin,
        "default",
        KeyAccess.none());
  }

  /** The caller has the first error to tell, such as that of the pin. */
  @Test
  void aProbeThatTheManagerIsNotAskedToRemoveIsLeftForLater() {
    Deleted probe =
        new Deleted(
            "csi.java.pin-1",
            Optional.empty(),
            JournalKind.VOLUME,
            UUID.randomUUID(),
            Instant.now(),
            Optional.empty());
    assertThatCode(() -> FirstPin.remove(unasked(), probe)).doesNotThrowAnyException();
    assertThat(sent).hasSize(1);
  }
}
