package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.untilNotAborted;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.rbd.background.Flattener;
import io.cephcsi.driver.rbd.background.ManagerCommands;
import io.cephcsi.driver.rbd.background.MgrTasks;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.CutOffHeader;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/**
 * librbd died between the last two steps of a flattening: the parent has forgotten the clone, and
 * the clone names it.
 */
class CutOffFlattensIT extends RbdCloneCase {
  /** Neither a clone of a clone's clone, nor a snapshot of a clone's clone. */
  private static final CloneLimits SHORT = new CloneLimits(2, 2, 450, 250);

  /**
   * Flattens an image but for the last step.
   *
   * @return the id of the parent that it names
   */
  private static String cutOff(String image) {
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool("rbd")) {
      String id = ImageId.find(new RbdPool(io), image).orElseThrow();
      String parent = ImageHeader.read(io, id).orElseThrow().parent().orElseThrow().imageId();
      CutOffHeader before = CutOffHeader.read(io, id);
      CLUSTER.rbd("flatten", "--no-progress", "rbd/" + image);
      before.putBack(io);
      return parent;
    }
  }

  private static void awaitGone(String imageId) {
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool("rbd")) {
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .until(() -> ImageHeader.read(io, imageId).isEmpty());
    }
  }

  private static Optional<ImageLink> parent(String image) {
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool("rbd")) {
      String id = ImageId.find(new RbdPool(io), image).orElseThrow();
      return ImageHeader.read(io, id).orElseThrow().parent();
    }
  }

  private static void assertNotOpened(String image) {
    assertThatThrownBy(() -> CLUSTER.rbd("info", "rbd/" + image)).hasMessageContaining("No such");
  }

  private static Snapshot takeNative(String name, Volume volume) {
    return driver.snapshot(
        driver.snapshotRequest(name, volume.getVolumeId()).putParameters("snapshotMode", "native"));
  }

  /** The parent, which nothing held any more, is gone. */
  @Test
  void aSnapshotIsStillRestored() {
    String image = TestDriver.image(snapshot);
    int before = CONTENT.checksum(rbd(source));
    String parent = cutOff(image);
    driver.delete(source.getVolumeId());
    awaitGone(parent);
    assertNotOpened(image);

    Volume volume = driver.restore(name, 0, snapshot.getSnapshotId());
    assertThat(CONTENT.checksum(rbd(volume))).isEqualTo(before);
    deleteWithSource(volume);
  }

  /** The parent and its ancestors are there: they counted. */
  @Test
  void aSnapshotAtTheLimitOfDepthIsRestoredAtOnce() {
    Volume middle = driver.restore(name + "-middle", 0, snapshot.getSnapshotId());
    Snapshot last = driver.snapshot(name + "-last", middle.getVolumeId());
    cutOff(TestDriver.image(last));
    assertNotOpened(TestDriver.image(last));
    try (TestDriver bounded = TestDriver.rbd(CLUSTER).cloneLimits(SHORT).start()) {
      Volume volume = bounded.restore(name, 0, last.getSnapshotId());
      assertThat(CONTENT.checksum(rbd(volume))).isEqualTo(CONTENT.checksum(rbd(source)));
      driver.delete(volume.getVolumeId());
    }
    driver.deleteSnapshot(last.getSnapshotId());
    deleteWithSource(middle);
  }

  @Test
  void aVolumeAtTheLimitOfDepthIsCopiedAndSnapshottedAtOnce() {
    Volume copied = driver.restore(name + "-1", 0, snapshot.getSnapshotId());
    Volume snapshotted = driver.restore(name + "-2", 0, snapshot.getSnapshotId());
    cutOff(TestDriver.image(copied));
    cutOff(TestDriver.image(snapshotted));
    try (TestDriver bounded = TestDriver.rbd(CLUSTER).cloneLimits(SHORT).start()) {
      Volume copy = bounded.copy(name, 0, copied.getVolumeId());
      assertThat(CONTENT.checksum(rbd(copy))).isEqualTo(CONTENT.checksum(rbd(source)));
      Snapshot taken = bounded.snapshot(name, snapshotted.getVolumeId());
      driver.delete(copy.getVolumeId());
      driver.deleteSnapshot(taken.getSnapshotId());
    }
    deleteWithSource(copied, snapshotted);
  }

  /** A clone with a native snapshot, whose parent is gone; it cannot be opened. */
  private Volume cutOffUnder(Snapshot taken, Volume volume) {
    String parent = cutOff(TestDriver.image(volume));
    driver.deleteSnapshot(snapshot.getSnapshotId());
    awaitGone(parent);
    assertNotOpened(TestDriver.image(volume));
    assertThat(taken.getSourceVolumeId()).isEqualTo(volume.getVolumeId());
    return volume;
  }

  @Test
  void aNativeSnapshotIsStillRestored() {
    Volume volume = driver.restore(name + "-1", 0, snapshot.getSnapshotId());
    Snapshot taken = takeNative(name, volume);
    cutOffUnder(taken, volume);

    Volume restored = driver.restore(name + "-2", 0, taken.getSnapshotId());
    assertThat(CONTENT.checksum(rbd(restored))).isEqualTo(CONTENT.checksum(rbd(source)));
    driver.deleteSnapshot(taken.getSnapshotId());
    deleteWithSource(restored, volume);
  }

  @Test
  void aNativeSnapshotIsDeletedAndNotOnlyItsEntry() {
    Volume volume = driver.restore(name + "-1", 0, snapshot.getSnapshotId());
    Snapshot taken = takeNative(name, volume);
    cutOffUnder(taken, volume);

    driver.deleteSnapshot(taken.getSnapshotId());
    assertThat(POOL.snapshots(TestDriver.image(volume))).isEmpty();
    assertThat(CONTENT.checksum(rbd(volume))).isEqualTo(CONTENT.checksum(rbd(source)));
    deleteWithSource(volume);
  }

  /** As a driver leaves it that died before it recorded the snapshot. */
  @Test
  void whatAnAttemptLeftOfANativeSnapshotIsTakenAway() {
    Volume volume = driver.restore(name + "-1", 0, snapshot.getSnapshotId());
    Snapshot taken = takeNative(name, volume);
    cutOffUnder(taken, volume);
    String uuid = VolumeId.parse(taken.getSnapshotId()).orElseThrow().uuid().toString();
    CLUSTER.rados("-p", "rbd", "rmomapkey", "csi.snap." + uuid, "csi.java.nativesnapshot");

    Snapshot again = untilNotAborted(Duration.ofMinutes(1), () -> takeNative(name, volume));
    assertThat(POOL.snapshots(TestDriver.image(volume))).hasSize(1);
    driver.deleteSnapshot(again.getSnapshotId());
    deleteWithSource(volume);
  }

  /** As "rbd migration prepare" leaves a clone that is killed between the two steps for it. */
  @Test
  void theCloneOfAnImageWhoseMigrationWasCutOffKeepsItsParent() {
    Volume clone = driver.restore(name + "-1", 0, snapshot.getSnapshotId());
    String image = TestDriver.image(clone);
    int before = CONTENT.checksum(rbd(source));
    String spec = "rbd/" + TestDriver.image(snapshot);
    CLUSTER.rbd("flatten", "--no-progress", spec); // it could not be migrated as a clone
    Listed old = Listed.of(image);
    CLUSTER.rbd("migration", "prepare", spec);
    Listed listed = Listed.of(image);
    assertThat(listed.parent).isNotEqualTo(old.parent);
    listed.write(List.of());
    old.write(old.clones);

    Volume copy = driver.copy(name + "-2", 0, clone.getVolumeId());
    assertThat(parent(image)).contains(listed.parent);
    assertThat(CONTENT.checksum(rbd(clone))).isEqualTo(before);
    assertThat(CONTENT.checksum(rbd(copy))).isEqualTo(before);

    old.write(List.of());
    listed.write(listed.clones);
    CLUSTER.rbd("migration", "abort", "--no-progress", spec);
    assertThat(parent(image)).contains(old.parent);
    deleteWithSource(copy, clone);
  }

  /** The clones that the parent of an image lists beside it. */
  private record Listed(ImageLink parent, long snapshot, List<ImageLink> clones) {
    static Listed of(String image) {
      try (RadosCluster connection = CLUSTER.connect();
          IoContext io = connection.openPool("rbd")) {
        String id = ImageId.find(new RbdPool(io), image).orElseThrow();
        ImageHeader header = ImageHeader.read(io, id).orElseThrow();
        ImageLink parent = header.parent().orElseThrow();
        long snapshot = header.parentSnapshot();
        List<ImageLink> clones = ImageHeader.children(io, parent.imageId(), snapshot);
        return new Listed(parent, snapshot, clones);
      }
    }

    void write(List<ImageLink> list) {
      new ForgedHeaders(CLUSTER, "rbd").clones(parent.imageId(), snapshot, list);
    }
  }

  @Test
  void itIsEndedInTheBackground() throws IOException {
    String image = TestDriver.image(snapshot);
    String id = POOL.info(image).path("id").asText();
    cutOff(image);
    assertNotOpened(image);
    ClusterDirectory clusters =
        new ClusterDirectory(
            TestDriver.clustersFile(CLUSTER, Files.createTempDirectory("clusters")));
    Duration patience = Duration.ofSeconds(10);
    try (ConnectionPool connections = new ConnectionPool(patience, patience);
        Flattener flattener = new Flattener(new MgrTasks(new ManagerCommands()));
        Lease lease =
            connections.lease(
                clusters.require(TestDriver.CLUSTER_ID),
                Storage.RBD.credentials(driver.secrets()))) {
      flattener.flatten(
          work -> {
            try (Lease shared = lease.share()) {
              work.accept(shared);
            }
          },
          lease.rbdPool("rbd"),
          image,
          id);
      Awaitility.await().until(() -> parent(image).isEmpty());
    }
    deleteWithSource();
  }
}
