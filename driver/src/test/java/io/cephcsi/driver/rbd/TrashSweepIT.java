package io.cephcsi.driver.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a driver finds in the trash when it starts. */
class TrashSweepIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();

  private final String left = "csi-vol-" + UUID.randomUUID();
  private final String foreign = "volume-" + UUID.randomUUID();
  private final String deferred = "csi-vol-" + UUID.randomUUID();

  private void trash(String image, String... options) {
    CLUSTER.rbd("create", "rbd/" + image, "--size", "8M");
    String[] move = new String[options.length + 3];
    move[0] = "trash";
    move[1] = "mv";
    System.arraycopy(options, 0, move, 2, options.length);
    move[move.length - 1] = "rbd/" + image;
    CLUSTER.rbd(move);
  }

  @AfterEach
  void empty() {
    CLUSTER
        .rbd("trash", "ls", "rbd")
        .lines()
        .filter(line -> line.contains(foreign) || line.contains(deferred))
        .forEach(
            line -> CLUSTER.rbd("trash", "rm", "--force", "rbd/" + line.strip().split(" ", -1)[0]));
  }

  @Test
  void imagesOfAnotherUserOrThatWereDeferredStayAndOursThatNobodyClaimsGo() {
    trash(left);
    trash(foreign);
    trash(deferred, "--expires-at", "tomorrow");

    try (TestDriver driver = TestDriver.start(CLUSTER)) {
      Volume volume = driver.create("pvc-" + UUID.randomUUID(), 16 * MIB);
      Awaitility.await()
          .untilAsserted(
              () -> assertThat(CLUSTER.rbd("trash", "ls", "--all", "rbd")).doesNotContain(left));
      driver.delete(volume.getVolumeId());
      Awaitility.await()
          .untilAsserted(
              () ->
                  assertThat(CLUSTER.rbd("trash", "ls", "--all", "rbd"))
                      .doesNotContain(TestDriver.image(volume)));
    }
    assertThat(CLUSTER.rbd("trash", "ls", "--all", "rbd")).contains(foreign, deferred);
  }
}
