package io.cephcsi.driver.csi;

import static io.cephcsi.driver.csi.Requests.required;

import com.google.protobuf.Int64Value;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.Capacity;
import io.cephcsi.driver.volume.ListPage;
import io.cephcsi.driver.volume.ListedSnapshot;
import io.cephcsi.driver.volume.ListedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeResponse;
import io.cephcsi.proto.csi.v1.GetCapacityRequest;
import io.cephcsi.proto.csi.v1.GetCapacityResponse;
import io.cephcsi.proto.csi.v1.GetSnapshotRequest;
import io.cephcsi.proto.csi.v1.GetSnapshotResponse;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsResponse;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.ListVolumesResponse;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCondition;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/** Lists of volumes and snapshots, and single ones: decode, call, encode. */
final class InventoryCalls {
  private final SecretlessBackend own;
  private final ControllerBackend backend;
  private final OperationRegistry operations;
  private final ClusterExecutors executors;

  InventoryCalls(
      SecretlessBackend own,
      ControllerBackend backend,
      OperationRegistry operations,
      ClusterExecutors executors) {
    this.own = own;
    this.backend = backend;
    this.operations = operations;
    this.executors = executors;
  }

  CompletableFuture<ListVolumesResponse> listVolumes(ListVolumesRequest request) {
    requireNotNegative(request.getMaxEntries());
    return operations.read(
        "ListVolumes",
        ofLists(),
        () ->
            volumes(own.inventory().volumes(request.getMaxEntries(), request.getStartingToken())));
  }

  private static ListVolumesResponse volumes(ListPage<ListedVolume> page) {
    ListVolumesResponse.Builder response =
        ListVolumesResponse.newBuilder().setNextToken(page.nextToken());
    for (ListedVolume volume : page.entries()) {
      response.addEntries(
          ListVolumesResponse.Entry.newBuilder()
              .setVolume(volume(volume))
              .setStatus(
                  ListVolumesResponse.VolumeStatus.newBuilder()
                      .addAllPublishedNodeIds(volume.nodes())
                      .setVolumeCondition(condition(volume.problem()))));
    }
    return response.build();
  }

  private static Volume volume(ListedVolume volume) {
    return Volume.newBuilder()
        .setVolumeId(volume.id().toString())
        .setCapacityBytes(volume.size())
        .putAllVolumeContext(volume.context())
        .build();
  }

  private static VolumeCondition condition(Optional<String> problem) {
    return VolumeCondition.newBuilder()
        .setAbnormal(problem.isPresent())
        .setMessage(problem.orElse("the volume is there and healthy"))
        .build();
  }

  CompletableFuture<ListSnapshotsResponse> listSnapshots(ListSnapshotsRequest request) {
    requireNotNegative(request.getMaxEntries());
    if (!request.getSnapshotId().isEmpty()) {
      return oneSnapshot(request);
    }
    Optional<VolumeId> source = VolumeId.parse(request.getSourceVolumeId());
    if (source.isEmpty() && !request.getSourceVolumeId().isEmpty()) {
      return CompletableFuture.completedFuture(ListSnapshotsResponse.getDefaultInstance());
    }
    return operations.read(
        "ListSnapshots",
        source.map(id -> backend.executor(id.clusterId())).orElseGet(this::ofLists),
        () -> {
          ListPage<ListedSnapshot> page =
              own.inventory()
                  .snapshots(
                      source,
                      request.getSecretsMap(),
                      request.getMaxEntries(),
                      request.getStartingToken());
          ListSnapshotsResponse.Builder response =
              ListSnapshotsResponse.newBuilder().setNextToken(page.nextToken());
          page.entries().forEach(snapshot -> response.addEntries(entry(snapshot)));
          return response.build();
        });
  }

  private CompletableFuture<ListSnapshotsResponse> oneSnapshot(ListSnapshotsRequest request) {
    Optional<VolumeId> id = VolumeId.parse(request.getSnapshotId());
    if (id.isEmpty()) {
      return CompletableFuture.completedFuture(ListSnapshotsResponse.getDefaultInstance());
    }
    String source = request.getSourceVolumeId();
    return onCluster(
        "ListSnapshots",
        id.get(),
        () -> {
          ListSnapshotsResponse.Builder response = ListSnapshotsResponse.newBuilder();
          own.inventory()
              .snapshot(id.get(), request.getSecretsMap())
              .filter(found -> source.isEmpty() || found.source().toString().equals(source))
              .ifPresent(found -> response.addEntries(entry(found)));
          return response.build();
        });
  }

  private static ListSnapshotsResponse.Entry entry(ListedSnapshot snapshot) {
    return ListSnapshotsResponse.Entry.newBuilder().setSnapshot(Snapshots.encode(snapshot)).build();
  }

  CompletableFuture<GetSnapshotResponse> getSnapshot(GetSnapshotRequest request) {
    String text = required(request.getSnapshotId(), "snapshot_id");
    VolumeId id = VolumeId.parse(text).orElseThrow(() -> noSnapshot(text));
    return onCluster(
        "GetSnapshot",
        id,
        () ->
            GetSnapshotResponse.newBuilder()
                .setSnapshot(
                    own.inventory()
                        .snapshot(id, request.getSecretsMap())
                        .map(Snapshots::encode)
                        .orElseThrow(() -> noSnapshot(text)))
                .build());
  }

  private static VolumeException noSnapshot(String id) {
    return VolumeException.notFound("snapshot " + id + " does not exist");
  }

  CompletableFuture<ControllerGetVolumeResponse> getVolume(ControllerGetVolumeRequest request) {
    VolumeId id = Requests.volumeId(request.getVolumeId());
    return onCluster(
        "ControllerGetVolume",
        id,
        () -> {
          ListedVolume volume = own.inventory().volume(id);
          return ControllerGetVolumeResponse.newBuilder()
              .setVolume(volume(volume))
              .setStatus(
                  ControllerGetVolumeResponse.VolumeStatus.newBuilder()
                      .addAllPublishedNodeIds(volume.nodes())
                      .setVolumeCondition(condition(volume.problem())))
              .build();
        });
  }

  CompletableFuture<GetCapacityResponse> getCapacity(GetCapacityRequest request) {
    boolean possible = backend.unsupported(request.getVolumeCapabilitiesList(), true).isEmpty();
    String clusterId = request.getParametersOrDefault("clusterID", "");
    return operations.read(
        "GetCapacity",
        clusterId.isEmpty() ? ofLists() : backend.executor(clusterId),
        () -> {
          Capacity capacity =
              request.getParametersCount() == 0
                  ? own.capacity().ofAll()
                  : own.capacity()
                      .of(
                          request.getParametersMap(),
                          request.getAccessibleTopology().getSegmentsMap());
          GetCapacityResponse.Builder response =
              GetCapacityResponse.newBuilder()
                  .setAvailableCapacity(possible ? capacity.available() : 0)
                  .setMinimumVolumeSize(Int64Value.of(Capacity.SMALLEST));
          capacity.largest().ifPresent(max -> response.setMaximumVolumeSize(Int64Value.of(max)));
          return response.build();
        });
  }

  private static void requireNotNegative(int maxEntries) {
    if (maxEntries < 0) {
      throw VolumeException.invalid("max_entries must not be negative");
    }
  }

  /** What is about all clusters has threads of its own. */
  private Executor ofLists() {
    return executors.lists(backend.storage());
  }

  private <T> CompletableFuture<T> onCluster(String call, VolumeId id, Supplier<T> work) {
    return operations.read(call + " of " + id, backend.executor(id.clusterId()), work);
  }
}
