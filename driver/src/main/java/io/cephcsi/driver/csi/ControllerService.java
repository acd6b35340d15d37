package io.cephcsi.driver.csi;

import static io.cephcsi.driver.csi.Requests.required;

import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.StaticVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeResponse;
import io.cephcsi.proto.csi.v1.ControllerGetCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.ControllerGetCapabilitiesResponse;
import io.cephcsi.proto.csi.v1.ControllerServiceCapability;
import io.cephcsi.proto.csi.v1.ControllerServiceCapability.RPC;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateSnapshotResponse;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeResponse;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotResponse;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeResponse;
import io.cephcsi.proto.csi.v1.ValidateVolumeCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.ValidateVolumeCapabilitiesResponse;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** CSI Controller: decode, lock, call, encode. */
public final class ControllerService extends SecretlessCalls {
  private static final List<RPC.Type> CAPABILITIES =
      List.of(
          RPC.Type.CREATE_DELETE_VOLUME,
          RPC.Type.CREATE_DELETE_SNAPSHOT,
          RPC.Type.CLONE_VOLUME,
          RPC.Type.EXPAND_VOLUME,
          RPC.Type.SINGLE_NODE_MULTI_WRITER);

  private final ControllerBackend backend;
  private final SnapshotCalls snapshots;
  private final OperationRegistry operations;

  /**
   * @param own what needs credentials of the driver's own; empty without
   * @param backend does the work
   * @param operations locks names and ids
   * @param executors run what is about no single cluster
   */
  public ControllerService(
      Optional<SecretlessBackend> own,
      ControllerBackend backend,
      OperationRegistry operations,
      ClusterExecutors executors) {
    super(own, backend, operations, executors);
    this.backend = backend;
    this.snapshots = new SnapshotCalls(backend, operations);
    this.operations = operations;
  }

  @Override
  public void controllerGetCapabilities(
      ControllerGetCapabilitiesRequest request,
      StreamObserver<ControllerGetCapabilitiesResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer ->
            moreCapabilities()
                .thenApply(
                    more ->
                        ControllerGetCapabilitiesResponse.newBuilder()
                            .addAllCapabilities(capabilities(CAPABILITIES))
                            .addAllCapabilities(capabilities(more))
                            .build()));
  }

  private static List<ControllerServiceCapability> capabilities(List<RPC.Type> types) {
    return types.stream()
        .map(
            type ->
                ControllerServiceCapability.newBuilder()
                    .setRpc(RPC.newBuilder().setType(type))
                    .build())
        .toList();
  }

  @Override
  public void createVolume(
      CreateVolumeRequest request, StreamObserver<CreateVolumeResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          String name = required(request.getName(), "name");
          VolumeCapabilities.requireComplete(request.getVolumeCapabilitiesList());
          Optional<ContentSource> source = ContentSources.of(request);
          backend
              .unsupported(request.getVolumeCapabilitiesList(), source.isPresent())
              .ifPresent(
                  reason -> {
                    throw VolumeException.invalid("volume_capabilities: " + reason);
                  });
          CapacityRange capacity = Requests.capacity(request.getCapacityRange());
          ControllerBackend.Creation creation = backend.creation(request, capacity, source);
          Credentials credentials = backend.storage().credentials(request.getSecretsMap());
          return operations
              .start(
                  OperationRegistry.volumeName(name),
                  "CreateVolume",
                  backend.executor(creation.clusterId()),
                  operation -> creation.create(name, credentials, operation))
              .thenApply(volume -> created(volume, request));
        });
  }

  private static CreateVolumeResponse created(CreatedVolume volume, CreateVolumeRequest request) {
    Volume.Builder answer =
        Volume.newBuilder()
            .setVolumeId(volume.id().toString())
            .setCapacityBytes(volume.size())
            .putAllVolumeContext(volume.context())
            .addAllAccessibleTopology(Topologies.of(volume));
    if (request.hasVolumeContentSource()) {
      answer.setContentSource(request.getVolumeContentSource());
    }
    return CreateVolumeResponse.newBuilder().setVolume(answer).build();
  }

  @Override
  public void createSnapshot(
      CreateSnapshotRequest request, StreamObserver<CreateSnapshotResponse> observer) {
    UnaryResponse.to(observer, Family.CSI, answer -> snapshots.create(request));
  }

  @Override
  public void deleteSnapshot(
      DeleteSnapshotRequest request, StreamObserver<DeleteSnapshotResponse> observer) {
    UnaryResponse.to(observer, Family.CSI, answer -> snapshots.delete(request));
  }

  @Override
  public void deleteVolume(
      DeleteVolumeRequest request, StreamObserver<DeleteVolumeResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          Optional<NamedVolume> volume =
              NamedVolume.find(backend, required(request.getVolumeId(), "volume_id"));
          DeleteVolumeResponse done = DeleteVolumeResponse.getDefaultInstance();
          if (volume.isEmpty()) {
            return CompletableFuture.completedFuture(done); // no such volume can exist
          }
          Credentials credentials = backend.storage().credentials(request.getSecretsMap());
          return operations.start(
              request.getVolumeId(),
              "DeleteVolume",
              backend.executor(volume.get().clusterId()),
              operation -> {
                volume.get().delete(credentials);
                return done;
              });
        });
  }

  @Override
  public void validateVolumeCapabilities(
      ValidateVolumeCapabilitiesRequest request,
      StreamObserver<ValidateVolumeCapabilitiesResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          required(request.getVolumeId(), "volume_id");
          VolumeCapabilities.requireComplete(request.getVolumeCapabilitiesList());
          Optional<StaticVolume> staticVolume =
              StaticVolume.of(request.getVolumeId(), request.getVolumeContextMap());
          if (staticVolume.isPresent()) {
            StaticVolume volume = staticVolume.get();
            Credentials user = Credentials.fromUserSecrets(request.getSecretsMap());
            return operations.read(
                "ValidateVolumeCapabilities of " + volume.handle(),
                backend.executor(volume.clusterId()),
                () -> {
                  backend.require(volume, user);
                  return validated(request, request.getVolumeContextMap());
                });
          }
          VolumeId id = Requests.volumeId(request.getVolumeId());
          Credentials credentials = backend.storage().credentials(request.getSecretsMap());
          return operations.read(
              "ValidateVolumeCapabilities of " + id,
              backend.executor(id.clusterId()),
              () -> {
                backend.require(id, credentials);
                return validated(request, Map.of());
              });
        });
  }

  /**
   * The answer for a volume that is there. What is confirmed is only what was looked at: of the
   * context that is what a volume that no driver made was found by.
   */
  private ValidateVolumeCapabilitiesResponse validated(
      ValidateVolumeCapabilitiesRequest request, Map<String, String> context) {
    // A volume that exists may have content by now, whatever it was made from.
    Optional<String> reason =
        backend
            .unsupported(request.getVolumeCapabilitiesList(), true)
            .or(() -> mistakeInParameters(request));
    ValidateVolumeCapabilitiesResponse.Builder response =
        ValidateVolumeCapabilitiesResponse.newBuilder();
    if (reason.isPresent()) {
      return response.setMessage(reason.get()).build();
    }
    return response
        .setConfirmed(
            ValidateVolumeCapabilitiesResponse.Confirmed.newBuilder()
                .putAllVolumeContext(context)
                .addAllVolumeCapabilities(request.getVolumeCapabilitiesList())
                .putAllParameters(request.getParametersMap())
                .putAllMutableParameters(request.getMutableParametersMap()))
        .build();
  }

  /** Why CreateVolume or ControllerModifyVolume would refuse the parameters; empty if not. */
  private Optional<String> mistakeInParameters(ValidateVolumeCapabilitiesRequest request) {
    try {
      if (request.getParametersCount() == 0) {
        Objects.requireNonNull(backend.modification(request.getMutableParametersMap()));
      } else {
        CreateVolumeRequest.Builder creation =
            CreateVolumeRequest.newBuilder()
                .addAllVolumeCapabilities(request.getVolumeCapabilitiesList())
                .putAllParameters(request.getParametersMap())
                .putAllMutableParameters(request.getMutableParametersMap());
        if (backend.storage() == Storage.RBD) { // that of the request is not told here
          creation.setAccessibilityRequirements(Topologies.anywhere(request.getParametersMap()));
        }
        Objects.requireNonNull(
            backend.creation(creation.build(), CapacityRange.ANY, Optional.empty()));
      }
      return Optional.empty();
    } catch (VolumeException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }

  @Override
  public void controllerExpandVolume(
      ControllerExpandVolumeRequest request,
      StreamObserver<ControllerExpandVolumeResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          required(request.getVolumeId(), "volume_id");
          if (!request.hasCapacityRange()) {
            throw VolumeException.invalid("capacity_range is required");
          }
          CapacityRange capacity = Requests.capacity(request.getCapacityRange());
          NamedVolume volume = NamedVolume.require(backend, request.getVolumeId());
          Credentials credentials = backend.storage().credentials(request.getSecretsMap());
          boolean onNode = backend.expandsOnNode(request.getVolumeCapability());
          return operations
              .start(
                  request.getVolumeId(),
                  "ControllerExpandVolume",
                  backend.executor(volume.clusterId()),
                  operation -> volume.expand(capacity, credentials))
              .thenApply(
                  size ->
                      ControllerExpandVolumeResponse.newBuilder()
                          .setCapacityBytes(size)
                          .setNodeExpansionRequired(onNode)
                          .build());
        });
  }
}
