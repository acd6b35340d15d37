package io.cephcsi.driver.csi;

import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeResponse;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.ControllerModifyVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerModifyVolumeResponse;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeResponse;
import io.cephcsi.proto.csi.v1.ControllerServiceCapability.RPC;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeResponse;
import io.cephcsi.proto.csi.v1.GetCapacityRequest;
import io.cephcsi.proto.csi.v1.GetCapacityResponse;
import io.cephcsi.proto.csi.v1.GetSnapshotRequest;
import io.cephcsi.proto.csi.v1.GetSnapshotResponse;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsResponse;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.ListVolumesResponse;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;

/**
 * Decodes and encodes the controller's calls that carry no secrets. Without credentials of the
 * driver ({@code --credentials}) they are UNIMPLEMENTED and not advertised.
 */
abstract class SecretlessCalls extends ControllerGrpc.ControllerImplBase {
  private static final List<RPC.Type> ALWAYS =
      List.of(
          RPC.Type.LIST_VOLUMES,
          RPC.Type.LIST_SNAPSHOTS,
          RPC.Type.GET_CAPACITY,
          RPC.Type.GET_VOLUME,
          RPC.Type.GET_SNAPSHOT,
          RPC.Type.VOLUME_CONDITION);
  private static final List<RPC.Type> WITH_NODES =
      List.of(
          RPC.Type.PUBLISH_UNPUBLISH_VOLUME,
          RPC.Type.PUBLISH_READONLY,
          RPC.Type.LIST_VOLUMES_PUBLISHED_NODES);
  private static final int PATIENCE_SECONDS = 5;

  private final Optional<SecretlessBackend> own;
  private final Optional<InventoryCalls> inventory;
  private final Optional<AttachCalls> attach;
  private final ControllerBackend backend;
  private final ClusterExecutors executors;

  SecretlessCalls(
      Optional<SecretlessBackend> own,
      ControllerBackend backend,
      OperationRegistry operations,
      ClusterExecutors executors) {
    this.own = own;
    this.backend = backend;
    this.executors = executors;
    this.inventory = own.map(access -> new InventoryCalls(access, backend, operations, executors));
    this.attach = own.map(access -> new AttachCalls(access, backend, operations));
  }

  /** The capabilities that this part adds now; a cluster that is silent adds none of its own. */
  final CompletableFuture<List<RPC.Type>> moreCapabilities() {
    if (own.isEmpty()) {
      return CompletableFuture.completedFuture(List.of());
    }
    SecretlessBackend access = own.get();
    CompletableFuture<Boolean> asked =
        access.isKnownToAttach()
            ? CompletableFuture.completedFuture(true)
            : CompletableFuture.supplyAsync(
                    () -> access.attaches(ClusterExecutors.NOT_SAID),
                    executors.lists(backend.storage()))
                .exceptionally(silent -> false)
                .completeOnTimeout(false, PATIENCE_SECONDS, TimeUnit.SECONDS);
    return asked.thenApply(
        attaches -> {
          List<RPC.Type> types = new ArrayList<>(ALWAYS);
          types.addAll(backend.capabilities());
          if (attaches) {
            types.addAll(WITH_NODES);
          }
          return types;
        });
  }

  @Override
  public final void listVolumes(
      ListVolumesRequest request, StreamObserver<ListVolumesResponse> observer) {
    answer(inventory, InventoryCalls::listVolumes, request, observer);
  }

  @Override
  public final void listSnapshots(
      ListSnapshotsRequest request, StreamObserver<ListSnapshotsResponse> observer) {
    answer(inventory, InventoryCalls::listSnapshots, request, observer);
  }

  @Override
  public final void getSnapshot(
      GetSnapshotRequest request, StreamObserver<GetSnapshotResponse> observer) {
    answer(inventory, InventoryCalls::getSnapshot, request, observer);
  }

  @Override
  public final void controllerGetVolume(
      ControllerGetVolumeRequest request, StreamObserver<ControllerGetVolumeResponse> observer) {
    answer(inventory, InventoryCalls::getVolume, request, observer);
  }

  @Override
  public final void getCapacity(
      GetCapacityRequest request, StreamObserver<GetCapacityResponse> observer) {
    answer(inventory, InventoryCalls::getCapacity, request, observer);
  }

  @Override
  public final void controllerPublishVolume(
      ControllerPublishVolumeRequest request,
      StreamObserver<ControllerPublishVolumeResponse> observer) {
    answer(attach, AttachCalls::publish, request, observer);
  }

  @Override
  public final void controllerUnpublishVolume(
      ControllerUnpublishVolumeRequest request,
      StreamObserver<ControllerUnpublishVolumeResponse> observer) {
    answer(attach, AttachCalls::unpublish, request, observer);
  }

  @Override
  public final void controllerModifyVolume(
      ControllerModifyVolumeRequest request,
      StreamObserver<ControllerModifyVolumeResponse> observer) {
    answer(attach, AttachCalls::modify, request, observer);
  }

  private static <C, Q, R> void answer(
      Optional<C> calls,
      BiFunction<C, Q, CompletableFuture<R>> call,
      Q request,
      StreamObserver<R> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> call.apply(calls.orElseThrow(SecretlessCalls::unimplemented), request));
  }

  private static VolumeException unimplemented() {
    return new VolumeException(
        Reason.UNIMPLEMENTED,
        "not advertised: this call needs the driver to have credentials, by --credentials");
  }
}
