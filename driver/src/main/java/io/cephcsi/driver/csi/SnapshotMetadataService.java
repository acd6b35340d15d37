package io.cephcsi.driver.csi;

import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.StreamResponse;
import io.cephcsi.driver.rbd.diff.RbdSnapshotMetadata;
import io.cephcsi.driver.volume.Extent;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.BlockMetadata;
import io.cephcsi.proto.csi.v1.BlockMetadataType;
import io.cephcsi.proto.csi.v1.GetMetadataAllocatedRequest;
import io.cephcsi.proto.csi.v1.GetMetadataAllocatedResponse;
import io.cephcsi.proto.csi.v1.GetMetadataDeltaRequest;
import io.cephcsi.proto.csi.v1.GetMetadataDeltaResponse;
import io.cephcsi.proto.csi.v1.SnapshotMetadataGrpc;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;

/** CSI SnapshotMetadata for RBD: decode, call, encode. */
public final class SnapshotMetadataService extends SnapshotMetadataGrpc.SnapshotMetadataImplBase {
  private final Optional<DriverConnections> own;
  private final RbdSnapshotMetadata metadata;
  private final ClusterExecutors executors;

  /**
   * @param own the clusters, with the driver's own credentials, for requests without secrets; empty
   *     without
   * @param metadata does the work
   * @param executors run it, for as long as clients take
   */
  public SnapshotMetadataService(
      Optional<DriverConnections> own, RbdSnapshotMetadata metadata, ClusterExecutors executors) {
    this.own = own;
    this.metadata = metadata;
    this.executors = executors;
  }

  @Override
  public void getMetadataAllocated(
      GetMetadataAllocatedRequest request, StreamObserver<GetMetadataAllocatedResponse> observer) {
    StreamResponse.to(
        observer,
        Family.CSI,
        answer -> {
          VolumeId id = snapshotId(request.getSnapshotId(), "snapshot_id");
          requireNotNegative(request.getStartingOffset(), request.getMaxResults());
          Credentials user = credentials(id, request.getSecretsMap());
          return CompletableFuture.runAsync(
              () ->
                  metadata.allocated(
                      id,
                      user,
                      new Extent.Request(
                          request.getStartingOffset(),
                          request.getMaxResults(),
                          new Answer<>(
                              answer,
                              (capacity, blocks) ->
                                  GetMetadataAllocatedResponse.newBuilder()
                                      .setBlockMetadataType(BlockMetadataType.VARIABLE_LENGTH)
                                      .setVolumeCapacityBytes(capacity)
                                      .addAllBlockMetadata(blocks)
                                      .build()))),
              executor(id));
        });
  }

  @Override
  public void getMetadataDelta(
      GetMetadataDeltaRequest request, StreamObserver<GetMetadataDeltaResponse> observer) {
    StreamResponse.to(
        observer,
        Family.CSI,
        answer -> {
          VolumeId base = snapshotId(request.getBaseSnapshotId(), "base_snapshot_id");
          VolumeId target = snapshotId(request.getTargetSnapshotId(), "target_snapshot_id");
          requireNotNegative(request.getStartingOffset(), request.getMaxResults());
          Credentials user = credentials(target, request.getSecretsMap());
          return CompletableFuture.runAsync(
              () ->
                  metadata.delta(
                      base,
                      target,
                      user,
                      new Extent.Request(
                          request.getStartingOffset(),
                          request.getMaxResults(),
                          new Answer<>(
                              answer,
                              (capacity, blocks) ->
                                  GetMetadataDeltaResponse.newBuilder()
                                      .setBlockMetadataType(BlockMetadataType.VARIABLE_LENGTH)
                                      .setVolumeCapacityBytes(capacity)
                                      .addAllBlockMetadata(blocks)
                                      .build()))),
              executor(target));
        });
  }

  /** Sends extents to a client, as long as it is there. */
  private record Answer<T>(
      StreamResponse<T> client, BiFunction<Long, List<BlockMetadata>, T> message)
      implements Extent.Sink {
    @Override
    public void accept(long capacity, List<Extent> extents) {
      client.awaitClient(); // without the message, which takes more memory than the extents
      client.send(message.apply(capacity, encode(extents)));
    }

    @Override
    public void requireTaker() {
      client.requireClient();
    }
  }

  private Credentials credentials(VolumeId id, Map<String, String> secrets) {
    return Requests.credentials(own, Storage.RBD, id, secrets);
  }

  private Executor executor(VolumeId id) {
    return executors.streams(id.clusterId());
  }

  private static VolumeId snapshotId(String text, String field) {
    return VolumeId.parse(Requests.required(text, field))
        .orElseThrow(
            () ->
                VolumeException.notFound(
                    field + " " + text + " does not exist: this is no id of this driver"));
  }

  private static void requireNotNegative(long startingOffset, int maxResults) {
    if (maxResults < 0) {
      throw VolumeException.invalid("max_results must not be negative");
    }
    if (startingOffset < 0) {
      throw new VolumeException(Reason.OUT_OF_RANGE, "starting_offset must not be negative");
    }
  }

  private static List<BlockMetadata> encode(List<Extent> extents) {
    return extents.stream()
        .map(
            extent ->
                BlockMetadata.newBuilder()
                    .setByteOffset(extent.offset())
                    .setSizeBytes(extent.length())
                    .build())
        .toList();
  }
}
