package io.cephcsi.driver.csiaddons;

import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.proto.addons.volumegroup.ControllerGetVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.ControllerGetVolumeGroupResponse;
import io.cephcsi.proto.addons.volumegroup.ControllerGrpc;
import io.cephcsi.proto.addons.volumegroup.CreateVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.CreateVolumeGroupResponse;
import io.cephcsi.proto.addons.volumegroup.DeleteVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.DeleteVolumeGroupResponse;
import io.cephcsi.proto.addons.volumegroup.ListVolumeGroupsRequest;
import io.cephcsi.proto.addons.volumegroup.ListVolumeGroupsResponse;
import io.cephcsi.proto.addons.volumegroup.ModifyVolumeGroupMembershipRequest;
import io.cephcsi.proto.addons.volumegroup.ModifyVolumeGroupMembershipResponse;
import io.grpc.stub.StreamObserver;

/** CSI-Addons VolumeGroup for CephFS, which has no groups of subvolumes to work on as one. */
public final class NoVolumeGroupService extends ControllerGrpc.ControllerImplBase {
  @Override
  public void createVolumeGroup(
      CreateVolumeGroupRequest request, StreamObserver<CreateVolumeGroupResponse> observer) {
    refuse(observer);
  }

  @Override
  public void modifyVolumeGroupMembership(
      ModifyVolumeGroupMembershipRequest request,
      StreamObserver<ModifyVolumeGroupMembershipResponse> observer) {
    refuse(observer);
  }

  @Override
  public void deleteVolumeGroup(
      DeleteVolumeGroupRequest request, StreamObserver<DeleteVolumeGroupResponse> observer) {
    refuse(observer);
  }

  @Override
  public void listVolumeGroups(
      ListVolumeGroupsRequest request, StreamObserver<ListVolumeGroupsResponse> observer) {
    refuse(observer);
  }

  @Override
  public void controllerGetVolumeGroup(
      ControllerGetVolumeGroupRequest request,
      StreamObserver<ControllerGetVolumeGroupResponse> observer) {
    refuse(observer);
  }

  private static <T> void refuse(StreamObserver<T> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          throw VolumeException.invalid(
              "CephFS subvolumes cannot be grouped: the file system has no groups of them");
        });
  }
}
