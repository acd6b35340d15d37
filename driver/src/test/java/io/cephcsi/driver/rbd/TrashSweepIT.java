package io.cephcsi.driver.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.PoolState;
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
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");

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
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(
              () -> assertThat(CLUSTER.rbd("trash", "ls", "--all", "rbd")).doesNotContain(left));
      driver.delete(volume.getVolumeId());
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(
              () ->
                  assertThat(CLUSTER.rbd("trash", "ls", "--all", "rbd"))
                      .doesNotContain(TestDriver.image(volume)));
    }
    assertThat(CLUSTER.rbd("trash", "ls", "--all", "rbd")).contains(foreign, deferred);
  }

  /** librbd cannot open a half-made clone whose origin does not know of it, and has gone. */
  @Test
  void whatCannotBeOpenedGoesAndHoldsUpNothingElse() {
    String origin = "origin-" + UUID.randomUUID();
    CLUSTER.rbd("create", "rbd/" + origin, "--size", "8M");
    CLUSTER.rbd("snap", "create", "rbd/" + origin + "@one");
    String orphan = left + "-temp";
    CLUSTER.rbd(
        "clone",
        "--rbd-default-clone-format=2",
        "--image-feature=layering",
        "rbd/" + origin + "@one",
        "rbd/" + orphan);
    CLUSTER.rbd("snap", "create", "rbd/" + orphan + "@" + left);
    CLUSTER.rbd("trash", "mv", "rbd/" + orphan);
    String header = "rbd_header." + POOL.info(origin).path("id").asText();
    for (String key : CLUSTER.rados("-p", "rbd", "listomapkeys", header).split("\n", -1)) {
      if (key.startsWith("snapshot_") || key.startsWith("snap_children_")) {
        CLUSTER.rados("-p", "rbd", "rmomapkey", header, key);
      }
    }
    String behind = "csi-vol-ffffffff" + UUID.randomUUID().toString().substring(8);
    trash(behind);

    try (TestDriver driver = TestDriver.start(CLUSTER)) {
      driver.delete(driver.create("pvc-" + UUID.randomUUID(), 16 * MIB).getVolumeId());
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(
              () ->
                  assertThat(CLUSTER.rbd("trash", "ls", "--all", "rbd"))
                      .doesNotContain(left, behind));
    }
    CLUSTER.rbd("rm", "rbd/" + origin);
  }

  /** librbd itself takes a clone away that it could not end: nobody deletes that. */
  @Test
  void anImageBetweenGoesWhenTheCloneThatHeldItVanishes() {
    String temporary = left + "-temp";
    String clone = "clone-" + UUID.randomUUID();
    CLUSTER.rbd("create", "rbd/" + temporary, "--size", "8M");
    CLUSTER.rbd("snap", "create", "rbd/" + temporary + "@" + left);
    CLUSTER.rbd(
        "clone", "--rbd-default-clone-format=2", "rbd/" + temporary + "@" + left, "rbd/" + clone);
    String id = POOL.info(temporary).path("id").asText();
    CLUSTER.rbd("trash", "mv", "rbd/" + temporary);

    try (TestDriver driver = TestDriver.start(CLUSTER)) {
      Volume volume = driver.create("pvc-" + UUID.randomUUID(), 16 * MIB);
      Awaitility.await("the driver looks, and it stays for its clone")
          .atMost(PoolState.MANAGER_TIME)
          .until(
              () ->
                  CLUSTER
                      .rbd("snap", "ls", "--all", "--pool", "rbd", "--image-id", id)
                      .contains("trash ("));
      CLUSTER.rbd("rm", "rbd/" + clone);
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(
              () -> assertThat(CLUSTER.rbd("trash", "ls", "--all", "rbd")).doesNotContain(left));
      driver.delete(volume.getVolumeId());
    }
  }
}
