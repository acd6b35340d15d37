package io.cephcsi.driver.testing;

import io.cephcsi.proto.csi.v1.CreateVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.GetVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.GroupControllerGrpc;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import java.util.List;
import java.util.Map;

/**
 * The snapshots of groups that a driver takes, as their CO sees them.
 *
 * @param driver the driver
 */
public record TestGroupSnapshots(TestDriver driver) {
  /** The service. */
  public GroupControllerGrpc.GroupControllerBlockingStub stub() {
    return GroupControllerGrpc.newBlockingStub(driver.channel());
  }

  /** A request for a snapshot of volumes. */
  public CreateVolumeGroupSnapshotRequest.Builder request(String name, String... volumes) {
    return CreateVolumeGroupSnapshotRequest.newBuilder()
        .setName(name)
        .addAllSourceVolumeIds(List.of(volumes))
        .putParameters("clusterID", TestDriver.CLUSTER_ID)
        .putAllSecrets(driver.secrets());
  }

  /** Takes one. */
  public VolumeGroupSnapshot take(String name, String... volumes) {
    return stub().createVolumeGroupSnapshot(request(name, volumes).build()).getGroupSnapshot();
  }

  /** The ids of its snapshots. */
  public static List<String> ids(VolumeGroupSnapshot taken) {
    return taken.getSnapshotsList().stream().map(Snapshot::getSnapshotId).toList();
  }

  /** A request to delete one. */
  public DeleteVolumeGroupSnapshotRequest deleteRequest(String id, List<String> snapshots) {
    return DeleteVolumeGroupSnapshotRequest.newBuilder()
        .setGroupSnapshotId(id)
        .addAllSnapshotIds(snapshots)
        .putAllSecrets(driver.secrets())
        .build();
  }

  /** Deletes one. */
  @SuppressWarnings("CheckReturnValue")
  public void delete(String id, List<String> snapshots) {
    stub().deleteVolumeGroupSnapshot(deleteRequest(id, snapshots));
  }

  /** Deletes one. */
  public void delete(VolumeGroupSnapshot taken) {
    delete(taken.getGroupSnapshotId(), ids(taken));
  }

  /** Asks for one. */
  public VolumeGroupSnapshot get(String id, List<String> snapshots) {
    return get(id, snapshots, driver.secrets());
  }

  /** Asks for one, with certain secrets or none. */
  public VolumeGroupSnapshot get(String id, List<String> snapshots, Map<String, String> secrets) {
    return stub()
        .getVolumeGroupSnapshot(
            GetVolumeGroupSnapshotRequest.newBuilder()
                .setGroupSnapshotId(id)
                .addAllSnapshotIds(snapshots)
                .putAllSecrets(secrets)
                .build())
        .getGroupSnapshot();
  }
}
