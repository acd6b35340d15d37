package io.cephcsi.driver.csiaddons;

import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.csi.NodeCredentials;
import io.cephcsi.driver.csi.Requests;
import io.cephcsi.driver.csi.VolumeUses;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.node.ClusterUsers;
import io.cephcsi.driver.node.rbd.NodeReclaimer;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceResponse;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceNodeGrpc;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.grpc.stub.StreamObserver;
import java.nio.file.Path;
import java.util.Optional;

/** CSI-Addons ReclaimSpace for RBD on a node: decode, lock, call, encode. */
public final class NodeReclaimService extends ReclaimSpaceNodeGrpc.ReclaimSpaceNodeImplBase {
  private final NodeReclaimer reclaimer;
  private final NodeCredentials access;
  private final OperationRegistry operations;
  private final ClusterExecutors executors;

  /**
   * @param reclaimer does the work
   * @param access whose credentials are used
   * @param operations locks ids
   * @param executors run what blocks
   */
  public NodeReclaimService(
      NodeReclaimer reclaimer,
      NodeCredentials access,
      OperationRegistry operations,
      ClusterExecutors executors) {
    this.reclaimer = reclaimer;
    this.access = access;
    this.operations = operations;
    this.executors = executors;
  }

  @Override
  public void nodeReclaimSpace(
      NodeReclaimSpaceRequest request, StreamObserver<NodeReclaimSpaceResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          Requests.required(request.getVolumeId(), "volume_id");
          Optional<Path> volumePath = Requests.optionalPath(request.getVolumePath(), "volume_path");
          Optional<Path> staging =
              Requests.optionalPath(request.getStagingTargetPath(), "staging_target_path");
          if (volumePath.isEmpty() && staging.isEmpty()) {
            throw VolumeException.invalid("volume_path or staging_target_path is required");
          }
          String id = request.getVolumeId();
          requireSuitable(request.getVolumeCapability());
          ClusterUsers users = access.users(request.getSecretsMap());
          return operations
              .startKept(
                  "reclaim of " + id + " on this node",
                  "NodeReclaimSpace",
                  volumePath + " " + staging,
                  answer::callerGone,
                  executors.longWork(
                      VolumeId.parse(id)
                          .map(VolumeId::clusterId)
                          .orElse(ClusterExecutors.NOT_SAID)),
                  operation -> reclaimer.reclaim(id, volumePath, staging, users, operation))
              .thenApply(NodeReclaimService::response);
        });
  }

  private static void requireSuitable(VolumeCapability capability) {
    if (capability.hasBlock()) {
      throw new VolumeException(
          Reason.UNIMPLEMENTED,
          "a block volume cannot be trimmed: only its workload knows which blocks are unused");
    }
    if (VolumeUses.writtenByMany(capability)) {
      throw new VolumeException(
          Reason.UNIMPLEMENTED,
          "a volume that several nodes write to cannot be trimmed on one node");
    }
  }

  private static NodeReclaimSpaceResponse response(NodeReclaimer.Result result) {
    NodeReclaimSpaceResponse.Builder response = NodeReclaimSpaceResponse.newBuilder();
    RbdReclaimService.ifPresent(result.before(), response::setPreUsage);
    RbdReclaimService.ifPresent(result.after(), response::setPostUsage);
    return response.build();
  }
}
