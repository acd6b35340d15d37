package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static io.cephcsi.driver.testing.Statuses.untilNotAborted;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import java.time.Duration;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/**
 * The object that leads from the name of a recorded image to it is gone, as when librbd in another
 * driver fails to make an image of the name.
 */
class LostNamesIT extends RbdCloneCase {
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private static String nameObject(String image) {
    return "rbd_id." + image;
  }

  private static void loseName(String image) {
    CLUSTER.rados("-p", "rbd", "rm", nameObject(image));
  }

  private static <T> T repeated(Supplier<T> call) {
    return untilNotAborted(PATIENCE, call);
  }

  @Test
  void aSnapshotIsFoundAgain() {
    loseName(TestDriver.image(snapshot));
    assertThat(driver.snapshot(name + "-snap", source.getVolumeId())).isEqualTo(snapshot);
    assertThat(POOL.objects()).contains(nameObject(TestDriver.image(snapshot)));
    deleteWithSource();
  }

  @Test
  void aSnapshotIsRestored() {
    loseName(TestDriver.image(snapshot));
    Volume volume = repeated(() -> driver.restore(name, 0, snapshot.getSnapshotId()));
    assertThat(CONTENT.checksum(rbd(volume))).isEqualTo(CONTENT.checksum(rbd(source)));
    deleteWithSource(volume);
  }

  @Test
  void aVolumeIsFoundCopiedSnapshottedAndExpanded() {
    String image = TestDriver.image(source);
    int content = CONTENT.checksum(rbd(source));
    loseName(image);
    assertThat(driver.create(name + "-source", 64 * MIB).getVolumeId())
        .isEqualTo(source.getVolumeId());
    loseName(image);
    Volume copy = repeated(() -> driver.copy(name, 0, source.getVolumeId()));
    assertThat(CONTENT.checksum(rbd(copy))).isEqualTo(content);
    loseName(image);
    Snapshot taken = repeated(() -> driver.snapshot(name, source.getVolumeId()));
    loseName(image);
    assertThat(driver.expand(source.getVolumeId(), 96 * MIB)).isEqualTo(96 * MIB);
    driver.deleteSnapshot(taken.getSnapshotId());
    deleteWithSource(copy);
  }

  @Test
  void aNativeSnapshotIsRestored() {
    Snapshot taken =
        driver.snapshot(
            driver
                .snapshotRequest(name + "-native", source.getVolumeId())
                .putParameters("snapshotMode", "native"));
    int content = CONTENT.checksum(rbd(source));
    loseName(TestDriver.image(source));
    Volume volume = repeated(() -> driver.restore(name, 0, taken.getSnapshotId()));
    assertThat(CONTENT.checksum(rbd(volume))).isEqualTo(content);
    driver.deleteSnapshot(taken.getSnapshotId());
    deleteWithSource(volume);
  }

  @Test
  void anotherNameThatSomebodyGaveIsKeptAndTheSnapshotDoesNotCountAsLost() {
    String image = TestDriver.image(snapshot);
    CLUSTER.rbd("mv", "rbd/" + image, "rbd/" + image + "-renamed");
    assertStatus(Code.ABORTED, () -> driver.restore(name, 0, snapshot.getSnapshotId()));
    assertStatus(
        Code.FAILED_PRECONDITION, () -> driver.snapshot(name + "-snap", source.getVolumeId()));
    assertThat(POOL.objects()).doesNotContain(nameObject(image));
    CLUSTER.rbd("mv", "rbd/" + image + "-renamed", "rbd/" + image);
    deleteWithSource();
  }

  @Test
  void theNameOfAnotherImageIsKept() {
    String image = TestDriver.image(snapshot);
    Volume other = driver.create(name + "-other", MIB);
    loseName(image);
    CLUSTER.rados("-p", "rbd", "cp", nameObject(TestDriver.image(other)), nameObject(image));
    assertStatus(Code.ABORTED, () -> driver.snapshot(name + "-snap", source.getVolumeId()));
    loseName(image);
    driver.delete(other.getVolumeId());
    deleteWithSource();
  }

  @Test
  void aVolumeThatIsBeingDeletedGetsNoName() {
    Volume deleted = driver.create(name, MIB);
    String uuid = VolumeId.parse(deleted.getVolumeId()).orElseThrow().uuid().toString();
    new Omaps(CLUSTER, "rbd", "")
        .set("csi.volume." + uuid, "csi.java.deleting", "2026-01-01T00:00:00Z 1");
    loseName(TestDriver.image(deleted));
    assertStatus(Code.NOT_FOUND, () -> driver.expand(deleted.getVolumeId(), 2 * MIB));
    assertThat(POOL.objects()).doesNotContain(nameObject(TestDriver.image(deleted)));
    driver.delete(deleted.getVolumeId());
    deleteWithSource();
  }

  @Test
  void aSnapshotInTheTrashGetsNoName() {
    String image = TestDriver.image(snapshot);
    String id = POOL.info(image).path("id").asText();
    CLUSTER.rbd("trash", "mv", "rbd/" + image);
    assertStatus(Code.NOT_FOUND, () -> driver.restore(name, 0, snapshot.getSnapshotId()));
    assertThat(POOL.objects()).doesNotContain(nameObject(image));
    CLUSTER.rbd("trash", "restore", "rbd/" + id);
    deleteWithSource();
  }
}
