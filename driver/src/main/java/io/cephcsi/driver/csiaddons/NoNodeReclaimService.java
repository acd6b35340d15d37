package io.cephcsi.driver.csiaddons;

import io.cephcsi.driver.csi.Requests;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceResponse;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceNodeGrpc;
import io.grpc.stub.StreamObserver;

/** As {@link NoReclaimService}, on a node. */
public final class NoNodeReclaimService extends ReclaimSpaceNodeGrpc.ReclaimSpaceNodeImplBase {
  @Override
  public void nodeReclaimSpace(
      NodeReclaimSpaceRequest request, StreamObserver<NodeReclaimSpaceResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          Requests.required(request.getVolumeId(), "volume_id");
          if (request.getVolumePath().isEmpty() && request.getStagingTargetPath().isEmpty()) {
            throw VolumeException.invalid("volume_path or staging_target_path is required");
          }
          throw new VolumeException(
              Reason.UNIMPLEMENTED,
              "CephFS volumes have nothing to trim: deleted files free their space at once");
        });
  }
}
