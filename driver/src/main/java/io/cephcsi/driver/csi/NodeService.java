package io.cephcsi.driver.csi;

import static io.cephcsi.driver.csi.Requests.required;

import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.node.ClusterUsers;
import io.cephcsi.driver.node.NodeVolumes;
import io.cephcsi.driver.node.PublishRequest;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.node.VolumeStats;
import io.cephcsi.driver.node.VolumeUse;
import io.cephcsi.driver.operation.NodeKeys;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.StaticVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.NodeExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeExpandVolumeResponse;
import io.cephcsi.proto.csi.v1.NodeGetCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.NodeGetCapabilitiesResponse;
import io.cephcsi.proto.csi.v1.NodeGetInfoRequest;
import io.cephcsi.proto.csi.v1.NodeGetInfoResponse;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsRequest;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsResponse;
import io.cephcsi.proto.csi.v1.NodeGrpc;
import io.cephcsi.proto.csi.v1.NodePublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodePublishVolumeResponse;
import io.cephcsi.proto.csi.v1.NodeServiceCapability;
import io.cephcsi.proto.csi.v1.NodeServiceCapability.RPC;
import io.cephcsi.proto.csi.v1.NodeStageVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeStageVolumeResponse;
import io.cephcsi.proto.csi.v1.NodeUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnpublishVolumeResponse;
import io.cephcsi.proto.csi.v1.NodeUnstageVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnstageVolumeResponse;
import io.cephcsi.proto.csi.v1.VolumeCondition;
import io.cephcsi.proto.csi.v1.VolumeUsage;
import io.grpc.stub.StreamObserver;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/** CSI Node: decode, lock, call, encode. */
public final class NodeService extends NodeGrpc.NodeImplBase {
  private static final List<RPC.Type> CAPABILITIES =
      List.of(
          RPC.Type.STAGE_UNSTAGE_VOLUME,
          RPC.Type.GET_VOLUME_STATS,
          RPC.Type.EXPAND_VOLUME,
          RPC.Type.VOLUME_CONDITION,
          RPC.Type.SINGLE_NODE_MULTI_WRITER,
          RPC.Type.VOLUME_MOUNT_GROUP);

  private final NodeIdentity node;
  private final NodeCredentials access;
  private final NodeVolumes volumes;
  private final OperationRegistry operations;
  private final ClusterExecutors executors;

  /**
   * @param node what the node is
   * @param access whose credentials are used
   * @param volumes does the work
   * @param operations locks volumes on this node
   * @param executors run what blocks
   */
  public NodeService(
      NodeIdentity node,
      NodeCredentials access,
      NodeVolumes volumes,
      OperationRegistry operations,
      ClusterExecutors executors) {
    this.node = node;
    this.access = access;
    this.volumes = volumes;
    this.operations = operations;
    this.executors = executors;
  }

  @Override
  public void nodeGetCapabilities(
      NodeGetCapabilitiesRequest request, StreamObserver<NodeGetCapabilitiesResponse> observer) {
    NodeGetCapabilitiesResponse.Builder response = NodeGetCapabilitiesResponse.newBuilder();
    for (RPC.Type type : CAPABILITIES) {
      response.addCapabilities(
          NodeServiceCapability.newBuilder().setRpc(RPC.newBuilder().setType(type)));
    }
    UnaryResponse.now(observer, response.build());
  }

  @Override
  public void nodeGetInfo(
      NodeGetInfoRequest request, StreamObserver<NodeGetInfoResponse> observer) {
    UnaryResponse.to(observer, Family.CSI, answer -> node.response());
  }

  @Override
  public void nodeStageVolume(
      NodeStageVolumeRequest request, StreamObserver<NodeStageVolumeResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          required(request.getVolumeId(), "volume_id");
          Path staging = Requests.path(request.getStagingTargetPath(), "staging_target_path");
          VolumeUse use =
              VolumeUses.required(
                  request.hasVolumeCapability(), request.getVolumeCapability(), access.storage());
          Optional<StaticVolume> staticVolume =
              StaticVolume.of(request.getVolumeId(), request.getVolumeContextMap());
          StageRequest stage =
              new StageRequest(
                  request.getVolumeId(),
                  staticVolume,
                  staging,
                  use,
                  request.getVolumeContextMap(),
                  staticVolume.isPresent()
                      ? Credentials.fromUserSecrets(request.getSecretsMap())
                      : access.storage().credentials(request.getSecretsMap()));
          return run(
              request.getVolumeId(),
              staticVolume.map(StaticVolume::clusterId),
              "NodeStageVolume",
              NodeStageVolumeResponse.getDefaultInstance(),
              operation -> volumes.stage(stage, operation));
        });
  }

  @Override
  public void nodeUnstageVolume(
      NodeUnstageVolumeRequest request, StreamObserver<NodeUnstageVolumeResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          required(request.getVolumeId(), "volume_id");
          Path staging = Requests.path(request.getStagingTargetPath(), "staging_target_path");
          NodeUnstageVolumeResponse done = NodeUnstageVolumeResponse.getDefaultInstance();
          return run(
              request.getVolumeId(),
              Optional.empty(),
              "NodeUnstageVolume",
              done,
              operation -> volumes.unstage(request.getVolumeId(), staging));
        });
  }

  @Override
  public void nodePublishVolume(
      NodePublishVolumeRequest request, StreamObserver<NodePublishVolumeResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          required(request.getVolumeId(), "volume_id");
          Path target = Requests.path(request.getTargetPath(), "target_path");
          VolumeUse use =
              VolumeUses.required(
                  request.hasVolumeCapability(), request.getVolumeCapability(), access.storage());
          if (request.getStagingTargetPath().isEmpty()) {
            throw new VolumeException(
                Reason.FAILED_PRECONDITION,
                "staging_target_path is required: volumes are staged first");
          }
          Optional<StaticVolume> staticVolume =
              StaticVolume.of(request.getVolumeId(), request.getVolumeContextMap());
          if (staticVolume.isEmpty()) {
            Requests.volumeId(request.getVolumeId());
          }
          PublishRequest publish =
              new PublishRequest(
                  request.getVolumeId(),
                  Requests.path(request.getStagingTargetPath(), "staging_target_path"),
                  target,
                  use,
                  request.getReadonly(),
                  request.getVolumeContextMap());
          return runInTurn(
              request.getVolumeId(),
              target,
              staticVolume.map(StaticVolume::clusterId),
              "NodePublishVolume",
              NodePublishVolumeResponse.getDefaultInstance(),
              operation -> volumes.publish(publish, operation));
        });
  }

  @Override
  public void nodeUnpublishVolume(
      NodeUnpublishVolumeRequest request, StreamObserver<NodeUnpublishVolumeResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          required(request.getVolumeId(), "volume_id");
          Path target = Requests.path(request.getTargetPath(), "target_path");
          return runInTurn(
              request.getVolumeId(),
              target,
              Optional.empty(),
              "NodeUnpublishVolume",
              NodeUnpublishVolumeResponse.getDefaultInstance(),
              operation -> volumes.unpublish(request.getVolumeId(), target));
        });
  }

  @Override
  public void nodeExpandVolume(
      NodeExpandVolumeRequest request, StreamObserver<NodeExpandVolumeResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          required(request.getVolumeId(), "volume_id");
          Path path = Requests.volumePath(request.getVolumePath());
          String id = request.getVolumeId();
          ClusterUsers users = access.users(request.getSecretsMap());
          long size = Requests.capacity(request.getCapacityRange()).required();
          return operations.start(
              NodeKeys.volume(id),
              "NodeExpandVolume",
              executor(id, Optional.empty()),
              operation ->
                  expanded(
                      size,
                      volumes.expand(
                          id,
                          path,
                          Requests.optionalPath(
                              request.getStagingTargetPath(), "staging_target_path"),
                          size,
                          users,
                          operation)));
        });
  }

  /** Kubelet never repeats a call that was OUT_OF_RANGE. */
  private static NodeExpandVolumeResponse expanded(long required, long size) {
    if (required > size) {
      throw new VolumeException(
          Reason.UNAVAILABLE,
          "the volume has " + size + " bytes here, less than required_bytes: expand it first");
    }
    return NodeExpandVolumeResponse.newBuilder().setCapacityBytes(size).build();
  }

  @Override
  public void nodeGetVolumeStats(
      NodeGetVolumeStatsRequest request, StreamObserver<NodeGetVolumeStatsResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          required(request.getVolumeId(), "volume_id");
          Path path = Requests.volumePath(request.getVolumePath());
          String id = request.getVolumeId();
          return operations.read(
              "NodeGetVolumeStats of " + id,
              executor(id, Optional.empty()),
              () -> stats(volumes.stats(id, path, access::own)));
        });
  }

  private static NodeGetVolumeStatsResponse stats(VolumeStats stats) {
    NodeGetVolumeStatsResponse.Builder response = NodeGetVolumeStatsResponse.newBuilder();
    stats.bytes().ifPresent(amount -> response.addUsage(usage(amount, VolumeUsage.Unit.BYTES)));
    stats.inodes().ifPresent(amount -> response.addUsage(usage(amount, VolumeUsage.Unit.INODES)));
    return response
        .setVolumeCondition(
            VolumeCondition.newBuilder()
                .setAbnormal(stats.abnormal())
                .setMessage(stats.condition()))
        .build();
  }

  private static VolumeUsage usage(VolumeStats.Amount amount, VolumeUsage.Unit unit) {
    return VolumeUsage.newBuilder()
        .setTotal(amount.total())
        .setUsed(amount.used())
        .setAvailable(amount.available())
        .setUnit(unit)
        .build();
  }

  private <T> CompletableFuture<T> run(
      String volumeId, Optional<String> clusterId, String kind, T done, Consumer<Operation> work) {
    return operations.start(
        NodeKeys.volume(volumeId),
        kind,
        executor(volumeId, clusterId),
        operation -> {
          work.accept(operation);
          return done;
        });
  }

  /** Pods of a node that use one volume begin and end at once: their calls wait for each other. */
  private <T> CompletableFuture<T> runInTurn(
      String volumeId,
      Path target,
      Optional<String> clusterId,
      String kind,
      T done,
      Consumer<Operation> work) {
    return operations.startInTurn(
        NodeKeys.volume(volumeId),
        "target path " + target,
        kind,
        executor(volumeId, clusterId),
        operation -> {
          work.accept(operation);
          return done;
        });
  }

  /** Of a volume that no driver made only some calls say which cluster it is on. */
  private Executor executor(String volumeId, Optional<String> clusterId) {
    return executors.calls(
        access.storage(),
        clusterId
            .or(() -> VolumeId.parse(volumeId).map(VolumeId::clusterId))
            .orElse(ClusterExecutors.NOT_SAID));
  }
}
