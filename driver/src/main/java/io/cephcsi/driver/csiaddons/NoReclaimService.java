package io.cephcsi.driver.csiaddons;

import io.cephcsi.driver.csi.Requests;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceResponse;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc;
import io.grpc.stub.StreamObserver;

/** CSI-Addons ReclaimSpace for CephFS, which frees what files give up by itself. */
public final class NoReclaimService
    extends ReclaimSpaceControllerGrpc.ReclaimSpaceControllerImplBase {
  @Override
  public void controllerReclaimSpace(
      ControllerReclaimSpaceRequest request,
      StreamObserver<ControllerReclaimSpaceResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          Requests.required(request.getVolumeId(), "volume_id");
          throw new VolumeException(
              Reason.UNIMPLEMENTED,
              "CephFS volumes have nothing to trim: deleted files free their space at once");
        });
  }
}
