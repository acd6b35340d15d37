package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.GetSnapshotRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The rules of lists, and what only CephFS has. */
class CephFsListConformanceIT extends ListRules {
  private static final SubvolumeState STATE = new SubvolumeState(CLUSTER);

  @BeforeAll
  static void start() {
    start(Kind.CEPHFS);
  }

  private static String subvolume(Volume volume) {
    return volume.getVolumeContextMap().get("subvolumeName");
  }

  @Test
  void volumesWithoutASubvolumeAreNotListedAndAbnormal() {
    Volume volume = make();
    Volume other = make();
    CLUSTER.ceph("fs", "subvolume", "rm", "cephfs", subvolume(volume), "csi");
    assertThat(ids(list(0, ""))).containsExactly(other.getVolumeId());
    var condition = ControllerGetVolume.get(volume.getVolumeId()).getStatus().getVolumeCondition();
    assertThat(condition.getAbnormal()).isTrue();
    assertThat(condition.getMessage()).contains(subvolume(volume));
  }

  @Test
  void anEntryWithTheNameOfAnotherVolumeOrOfNoneDeletesNothing() {
    Volume volume = make();
    Omaps omaps = kind.journal(CLUSTER);
    VolumeId like = VolumeId.parse(volume.getVolumeId()).orElseThrow();
    for (String name : List.of(subvolume(volume), "csi-vol-", "", "\0", ".", "x\0")) {
      UUID uuid = UUID.randomUUID();
      String object = "csi.volume." + uuid;
      omaps.set(object, "csi.volname", newName());
      omaps.set(object, "csi.imagename", name.getBytes(UTF_8));
      String id = new VolumeId(like.clusterId(), like.location(), uuid).toString();
      assertStatus(
          Code.FAILED_PRECONDITION,
          "damaged journal",
          () -> controller().deleteVolume(delete(id).build()));
      omaps.remove(object);
    }
    assertThat(CLUSTER.ceph("fs", "subvolume", "ls", "cephfs", "csi")).contains(subvolume(volume));
  }

  @Test
  void shallowVolumesAreListedAndTheirDeletedSnapshotIsNot() {
    Volume volume = make();
    Snapshot snapshot = take(volume);
    Volume shallow = driver.show(newName(), snapshot.getSnapshotId());
    made.add(shallow);
    var listed =
        list(0, "").getEntriesList().stream()
            .filter(entry -> entry.getVolume().getVolumeId().equals(shallow.getVolumeId()))
            .findFirst()
            .orElseThrow();
    assertThat(listed.getVolume().getCapacityBytes()).isEqualTo(volume.getCapacityBytes());
    assertThat(shallow.getVolumeContextMap())
        .containsAllEntriesOf(listed.getVolume().getVolumeContextMap());
    assertThat(listed.getStatus().getVolumeCondition().getAbnormal()).isFalse();

    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertThat(ids(controller().listSnapshots(snapshots(0, "").build()))).isEmpty();
    assertStatus(
        Code.NOT_FOUND,
        () ->
            controller()
                .getSnapshot(
                    GetSnapshotRequest.newBuilder()
                        .setSnapshotId(snapshot.getSnapshotId())
                        .build()));
    assertThat(
            ControllerGetVolume.get(shallow.getVolumeId())
                .getStatus()
                .getVolumeCondition()
                .getAbnormal())
        .isFalse();

    STATE.removeSnapshot(
        subvolume(volume),
        "csi-snap-" + snapshot.getSnapshotId().substring(snapshot.getSnapshotId().length() - 36));
    assertThat(
            ControllerGetVolume.get(shallow.getVolumeId())
                .getStatus()
                .getVolumeCondition()
                .getMessage())
        .contains("gone");
  }
}
