package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.untilNotAborted;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Clones are flattened where a chain gets long or an image has many snapshots, and no others. */
class RbdCloneLimitsIT extends RbdCloneCase {
  private static final long GONE = 1 << 20; // no pool has this id

  @Test
  void chainsOfClonesStayShort() {
    try (TestDriver bounded =
        TestDriver.rbd(CLUSTER).cloneLimits(new CloneLimits(4, 3, 450, 250)).start()) {
      List<Volume> volumes = new ArrayList<>();
      String last = source.getVolumeId();
      for (int i = 0; i < 5; i++) {
        String step = name + "-" + i;
        String from = last;
        Volume volume = untilNotAborted(Duration.ofSeconds(60), () -> bounded.copy(step, 0, from));
        assertThat(depth(TestDriver.image(volume))).isLessThanOrEqualTo(4);
        volumes.add(volume);
        last = volume.getVolumeId();
      }
      assertThat(CONTENT.checksum(rbd(volumes.get(4)))).isEqualTo(CONTENT.checksum(rbd(source)));
      Collections.reverse(volumes);
      deleteWithSource(volumes.toArray(new Volume[0]));
    }
  }

  private static int depth(String image) {
    int depth = 0;
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd")) {
      var id = ImageId.find(new RbdPool(io), image);
      while (id.isPresent()) {
        id = ImageHeader.read(io, id.get()).flatMap(ImageHeader::parent).map(ImageLink::imageId);
        depth += id.isPresent() ? 1 : 0;
      }
    }
    return depth;
  }

  @Test
  void snapshotsOfAnImageStayFew() {
    try (TestDriver bounded =
        TestDriver.rbd(CLUSTER).cloneLimits(new CloneLimits(8, 4, 4, 3)).start()) {
      List<Snapshot> snapshots = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        String step = name + "-" + i;
        snapshots.add(
            untilNotAborted(
                Duration.ofSeconds(60), () -> bounded.snapshot(step, source.getVolumeId())));
        assertThat(POOL.snapshots(TestDriver.image(source)).size()).isLessThanOrEqualTo(4);
      }
      int content = CONTENT.checksum(rbd(source));
      for (Snapshot taken : snapshots) {
        assertThat(
                CONTENT.checksum("rbd/" + TestDriver.image(taken) + "@" + TestDriver.image(taken)))
            .isEqualTo(content);
        // An image that is being flattened is in use.
        Awaitility.await()
            .atMost(PoolState.MANAGER_TIME)
            .ignoreExceptions()
            .untilAsserted(() -> bounded.deleteSnapshot(taken.getSnapshotId()));
      }
      // So is the parent of one.
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .ignoreExceptions()
          .untilAsserted(() -> bounded.delete(source.getVolumeId()));
    }
    deleteWithSource();
  }

  /** The image of each snapshot is in the trash, and its clone keeps it there. */
  @Test
  void snapshotsThatAreDeletedAfterTheyWereRestoredStayFewOnTheImage() {
    Duration patience = Duration.ofSeconds(60);
    try (TestDriver bounded =
        TestDriver.rbd(CLUSTER).cloneLimits(new CloneLimits(8, 4, 4, 3)).start()) {
      List<Volume> volumes = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        String step = name + "-" + i;
        Snapshot taken =
            untilNotAborted(patience, () -> bounded.snapshot(step, source.getVolumeId()));
        volumes.add(
            untilNotAborted(patience, () -> bounded.restore(step, 0, taken.getSnapshotId())));
        untilNotAborted(
            patience,
            () -> {
              bounded.deleteSnapshot(taken.getSnapshotId());
              return taken;
            });
      }
      int content = CONTENT.checksum(rbd(source));
      for (Volume volume : volumes) {
        assertThat(CONTENT.checksum(rbd(volume))).isEqualTo(content);
        bounded.delete(volume.getVolumeId());
      }
      Awaitility.await() // the parent of what is being flattened is in use
          .atMost(PoolState.MANAGER_TIME)
          .ignoreExceptions()
          .untilAsserted(() -> bounded.delete(source.getVolumeId()));
    }
    deleteWithSource();
  }

  /** Who may write to a pool could have the driver flatten clones in any other. */
  @Test
  void whatAListOfClonesNamesFalselyIsNotFlattened() {
    String other = CLUSTER.otherPool();
    String origin = other + "/origin-" + UUID.randomUUID();
    String victim = "victim-" + UUID.randomUUID();
    CLUSTER.rbd("create", origin, "--size", "8M");
    CLUSTER.rbd("snap", "create", origin + "@one", "--no-progress");
    CLUSTER.rbd("clone", "--rbd-default-clone-format=2", origin + "@one", other + "/" + victim);
    List<Snapshot> taken = new ArrayList<>(List.of(snapshot));
    for (int i = 0; i < 3; i++) {
      taken.add(driver.snapshot(name + "-" + i, source.getVolumeId()));
    }
    PoolState others = new PoolState(CLUSTER, other);
    ForgedHeaders headers = new ForgedHeaders(CLUSTER, "rbd");
    String id = POOL.info(TestDriver.image(source)).path("id").asText();
    long second;
    List<ImageLink> listed;
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd");
        var there = cluster.openPool(other)) {
      second = ImageHeader.read(io, id).orElseThrow().snapshotIds().get(2);
      listed = ImageHeader.children(io, id, second);
      List<ImageLink> clones = new ArrayList<>(listed);
      clones.add(new ImageLink(there.poolId(), "", others.info(victim).path("id").asText()));
      clones.add(new ImageLink(GONE, "", "1234")); // of a pool that was deleted since
      headers.clones(id, second, clones);
    }
    try (TestDriver bounded =
        TestDriver.rbd(CLUSTER).cloneLimits(new CloneLimits(8, 4, 450, 3)).start()) {
      taken.add(bounded.snapshot(name + "-last", source.getVolumeId()));
      Awaitility.await("the clone of the oldest snapshot, which comes after the forged list")
          .atMost(PoolState.MANAGER_TIME)
          .until(() -> depth(TestDriver.image(snapshot)) == 0);
    }
    assertThat(others.info(victim).has("parent")).isTrue();
    assertThat(CLUSTER.ceph("rbd", "task", "list")).doesNotContain(victim);

    headers.clones(id, second, listed);
    CLUSTER.rbd("rm", other + "/" + victim, "--no-progress");
    CLUSTER.rbd("snap", "rm", origin + "@one", "--no-progress");
    CLUSTER.rbd("rm", origin, "--no-progress");
    deleteWhenFlattened(taken);
    deleteWithSource();
  }

  /** Who may write to a pool could have the driver copy over the data of an image in any other. */
  @Test
  void aCloneThatNamesDataOfAnotherPoolIsNotFlattened() {
    String other = CLUSTER.otherPool();
    String victim = other + "/victim-" + UUID.randomUUID();
    CLUSTER.rbd("create", victim, "--size", "64M"); // nothing stands in the way of what is copied
    int content = CONTENT.checksum(victim);
    List<Snapshot> taken = new ArrayList<>(List.of(snapshot));
    for (int i = 0; i < 3; i++) {
      taken.add(driver.snapshot(name + "-" + i, source.getVolumeId()));
    }
    ForgedHeaders headers = new ForgedHeaders(CLUSTER, "rbd");
    String forged = POOL.info(TestDriver.image(taken.get(1))).path("id").asText();
    long own;
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd");
        var there = cluster.openPool(other)) {
      own = io.poolId();
      headers.data(
          forged,
          there.poolId(),
          new PoolState(CLUSTER, other)
              .info(victim.substring(other.length() + 1))
              .path("block_name_prefix")
              .asText());
    }
    try (TestDriver bounded =
        TestDriver.rbd(CLUSTER).cloneLimits(new CloneLimits(8, 4, 450, 3)).start()) {
      taken.add(bounded.snapshot(name + "-last", source.getVolumeId()));
      Awaitility.await("the clone of the oldest snapshot, which comes after the forged one")
          .atMost(PoolState.MANAGER_TIME)
          .until(() -> depth(TestDriver.image(snapshot)) == 0);
    }
    assertThat(CONTENT.checksum(victim)).isEqualTo(content);

    headers.data(forged, own, "rbd_data." + forged);
    CLUSTER.rbd("rm", victim, "--no-progress");
    deleteWhenFlattened(taken);
    deleteWithSource();
  }

  /** An image that is being flattened is in use. */
  private void deleteWhenFlattened(List<Snapshot> snapshots) {
    for (Snapshot one : snapshots) {
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .ignoreExceptions()
          .untilAsserted(() -> driver.deleteSnapshot(one.getSnapshotId()));
    }
  }
}
