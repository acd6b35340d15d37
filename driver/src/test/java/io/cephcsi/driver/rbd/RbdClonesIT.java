package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerGetCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.ControllerServiceCapability.RPC;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.grpc.Status.Code;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Volumes with the content of a snapshot or of a volume. */
class RbdClonesIT extends RbdCloneCase {

  @Test
  void aVolumeFromASnapshotHasItsContentAndSaysSo() {
    Volume volume = driver.restore(name, 0, snapshot.getSnapshotId());

    assertThat(volume.getCapacityBytes()).isEqualTo(64 * MIB);
    assertThat(volume.getContentSource().getSnapshot().getSnapshotId())
        .isEqualTo(snapshot.getSnapshotId());
    assertThat(CONTENT.checksum(rbd(volume))).isEqualTo(CONTENT.checksum(rbd(source)));
    assertThat(driver.restore(name, 0, snapshot.getSnapshotId())).isEqualTo(volume);

    deleteWithSource(volume);
  }

  @Test
  void aVolumeFromAVolumeHasItsContentOfThatTimeAndSaysSo() {
    int before = CONTENT.checksum(rbd(source));
    Volume volume = driver.copy(name, 0, source.getVolumeId());
    CONTENT.write(rbd(source), 8);

    assertThat(volume.getContentSource().getVolume().getVolumeId()).isEqualTo(source.getVolumeId());
    assertThat(CONTENT.checksum(rbd(volume))).isEqualTo(before);
    assertThat(driver.copy(name, 0, source.getVolumeId())).isEqualTo(volume);

    deleteWithSource(volume);
  }

  @Test
  void theSameCallGivesTheSameVolumeAlsoWhenItHasBeenFlattened() {
    Volume volume = driver.restore(name, 0, snapshot.getSnapshotId());
    CLUSTER.rbd("flatten", rbd(volume));

    assertThat(driver.restore(name, 0, snapshot.getSnapshotId())).isEqualTo(volume);
    assertStatus(Code.ALREADY_EXISTS, () -> driver.copy(name, 0, source.getVolumeId()));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.create(name, 0));

    deleteWithSource(volume);
  }

  @Test
  void isAsLargeAsAskedForOrAsItsContent() {
    Volume larger = driver.restore(name, 96 * MIB, snapshot.getSnapshotId());
    assertThat(larger.getCapacityBytes()).isEqualTo(96 * MIB);
    assertThat(POOL.info(TestDriver.image(larger)).path("size").asLong()).isEqualTo(96 * MIB);
    Volume smaller = driver.copy(name + "-2", 32 * MIB, source.getVolumeId());
    assertThat(smaller.getCapacityBytes()).isEqualTo(64 * MIB);
    assertStatus(
        Code.OUT_OF_RANGE,
        "limit_bytes",
        () ->
            driver
                .controller()
                .createVolume(
                    driver
                        .restoreRequest(name + "-3", 0, snapshot.getSnapshotId())
                        .setCapacityRange(CapacityRange.newBuilder().setLimitBytes(32 * MIB))
                        .build()));
    assertThat(POOL.keys("csi.volumes.default")).doesNotContain("csi.volume." + name + "-3");
    deleteWithSource(larger, smaller);
  }

  @Test
  void theSameNameFromAnotherSourceIsRefused() {
    Volume restored = driver.restore(name, 0, snapshot.getSnapshotId());
    Volume copied = driver.copy(name + "-2", 0, source.getVolumeId());
    Volume empty = driver.create(name + "-3", 64 * MIB);
    Snapshot other = driver.snapshot(name + "-other", source.getVolumeId());

    assertStatus(Code.ALREADY_EXISTS, () -> driver.restore(name, 0, other.getSnapshotId()));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.copy(name, 0, source.getVolumeId()));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.create(name, 64 * MIB));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.copy(name + "-2", 0, empty.getVolumeId()));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.restore(name + "-2", 0, other.getSnapshotId()));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.restore(name + "-3", 0, other.getSnapshotId()));

    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertThat(driver.restore(name, 0, snapshot.getSnapshotId()))
        .as("a retry after the source is gone")
        .isEqualTo(restored);
    driver.deleteSnapshot(other.getSnapshotId());
    deleteWithSource(restored, copied, empty);
  }

  @Test
  void aMissingSourceIsNotFoundAndLeavesNothing() {
    Volume gone = driver.create(name + "-gone", 64 * MIB);
    Snapshot goneSnapshot = driver.snapshot(name + "-gone", gone.getVolumeId());
    driver.deleteSnapshot(goneSnapshot.getSnapshotId());
    driver.delete(gone.getVolumeId());

    assertStatus(Code.NOT_FOUND, () -> driver.copy(name, 0, gone.getVolumeId()));
    assertStatus(Code.NOT_FOUND, () -> driver.restore(name, 0, goneSnapshot.getSnapshotId()));
    assertStatus(Code.NOT_FOUND, () -> driver.restore(name, 0, "not-an-id"));
    assertThat(POOL.keys("csi.volumes.default")).doesNotContain("csi.volume." + name);
    assertStatus(
        Code.INVALID_ARGUMENT,
        "cluster",
        () -> driver.restore(name, 0, snapshot.getSnapshotId().replace("000c-test", "000c-TEST")));
    deleteWithSource();
  }

  @Test
  void theImageBetweenGoesWithAVolumeThatWasFlattened() {
    Volume flattened = driver.copy(name, 0, source.getVolumeId());
    CLUSTER.rbd("flatten", rbd(flattened), "--no-progress");
    Volume deep = driver.copy(name + "-2", 0, source.getVolumeId());
    CLUSTER.rbd("flatten", rbd(deep) + "-temp", "--no-progress");
    Volume alone = driver.copy(name + "-3", 0, source.getVolumeId());
    CLUSTER.rbd("flatten", rbd(alone) + "-temp", "--no-progress");
    CLUSTER.rbd("flatten", rbd(alone), "--no-progress");
    for (Volume each : List.of(flattened, deep, alone)) {
      assertThat(POOL.images()).contains(TestDriver.image(each) + "-temp");
      driver.delete(each.getVolumeId());
      assertThat(POOL.images()).doesNotContain(TestDriver.image(each) + "-temp");
    }
    deleteWithSource();
  }

  @Test
  void aCloneOutlivesItsSourceAndEverythingGoesWithTheLast() {
    Volume restored = driver.restore(name, 0, snapshot.getSnapshotId());
    Volume copied = driver.copy(name + "-2", 0, source.getVolumeId());
    int content = CONTENT.checksum(rbd(source));

    driver.delete(source.getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());

    assertThat(CONTENT.checksum(rbd(restored))).isEqualTo(content);
    assertThat(CONTENT.checksum(rbd(copied))).isEqualTo(content);
    Awaitility.await()
        .untilAsserted(
            () ->
                assertThat(POOL.trash())
                    .contains(TestDriver.image(source), TestDriver.image(snapshot)));
    deleteWithSource(restored, copied);
  }

  @Test
  void severalNodesMayMountAVolumeWithContentForReading() {
    VolumeCapability readers =
        VolumeCapability.newBuilder()
            .setMount(VolumeCapability.MountVolume.getDefaultInstance())
            .setAccessMode(
                VolumeCapability.AccessMode.newBuilder().setMode(Mode.MULTI_NODE_READER_ONLY))
            .build();
    Volume volume =
        driver.create(
            driver
                .restoreRequest(name, 0, snapshot.getSnapshotId())
                .setVolumeCapabilities(0, readers));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "MULTI_NODE_READER_ONLY",
        () ->
            driver
                .controller()
                .createVolume(
                    driver
                        .createRequest(name + "-2", MIB)
                        .setVolumeCapabilities(0, readers)
                        .build()));
    deleteWithSource(volume);
  }

  @Test
  void saysThatItCanCloneAndSnapshot() {
    assertThat(
            driver
                .controller()
                .controllerGetCapabilities(ControllerGetCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList())
        .extracting(capability -> capability.getRpc().getType())
        .contains(RPC.Type.CREATE_DELETE_SNAPSHOT, RPC.Type.CLONE_VOLUME);
    deleteWithSource();
  }

  private static String metadata(Volume volume) {
    return CLUSTER.rbd("image-meta", "ls", rbd(volume));
  }

  /** librbd copies the metadata of an image to its clones. */
  @Test
  void limitsOfTheSourceAreNotThoseOfItsCopies() {
    Volume limited =
        driver.create(
            driver
                .createRequest(name + "-limited", 16 * MIB)
                .putParameters("baseReadIops", "55")
                .putMutableParameters("qos.iopsLimit", "77"));
    assertThat(metadata(limited)).contains("qos_iops_limit", "rbd_base_qos_read_iops_limit");
    Snapshot taken = driver.snapshot(name + "-limited", limited.getVolumeId());
    Volume copy = driver.copy(name + "-copy", 0, limited.getVolumeId());
    Volume restored =
        driver.create(
            driver
                .restoreRequest(name + "-restored", 0, taken.getSnapshotId())
                .putMutableParameters("qos.bpsLimit", "1000000"));
    assertThat(metadata(copy)).doesNotContain("qos");
    assertThat(metadata(restored)).contains("conf_rbd_qos_bps_limit").doesNotContain("iops");
    assertThat(metadata(limited)).contains("qos_iops_limit");
    for (Volume volume : List.of(copy, restored, limited)) {
      driver.delete(volume.getVolumeId());
    }
    driver.deleteSnapshot(taken.getSnapshotId());
    deleteWithSource();
  }
}
