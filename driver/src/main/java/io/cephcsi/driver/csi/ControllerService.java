package io.cephcsi.driver.csi;

import static io.cephcsi.driver.csi.Requests.required;

import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.grpc.Answer;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.CreatedVolume;
import io.cephcsi.driver.rbd.MutableParameters;
import io.cephcsi.driver.rbd.RbdParameters;
import io.cephcsi.driver.rbd.RbdSnapshots;
import io.cephcsi.driver.rbd.RbdVolumes;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
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
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** CSI Controller for RBD: decode, lock, call, encode. */
public final class RbdControllerService extends OwnAccessController {
  private static final List<RPC.Type> CAPABILITIES =
      List.of(
          RPC.Type.CREATE_DELETE_VOLUME,
          RPC.Type.CREATE_DELETE_SNAPSHOT,
          RPC.Type.CLONE_VOLUME,
          RPC.Type.EXPAND_VOLUME,
          RPC.Type.SINGLE_NODE_MULTI_WRITER);

  private final RbdVolumes volumes;
  private final SnapshotCalls snapshots;
  private final OperationRegistry operations;
  private final ClusterExecutors executors;

  /**
   * @param own what needs credentials of the driver's own; empty without
   * @param volumes does the work
   * @param snapshots does the work on snapshots
   * @param operations locks names and ids
   * @param executors run what blocks
   */
  public RbdControllerService(
      Optional<OwnAccess> own,
      RbdVolumes volumes,
      RbdSnapshots snapshots,
      OperationRegistry operations,
      ClusterExecutors executors) {
    super(own, volumes, operations, executors);
    this.volumes = volumes;
    this.snapshots = new SnapshotCalls(snapshots, operations, executors);
    this.operations = operations;
    this.executors = executors;
  }

  @Override
  public void controllerGetCapabilities(
      ControllerGetCapabilitiesRequest request,
      StreamObserver<ControllerGetCapabilitiesResponse> observer) {
    Answer.to(
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
    Answer.to(
        observer,
        Family.CSI,
        answer -> {
          String name = required(request.getName(), "name");
          VolumeCapabilities.requireComplete(request.getVolumeCapabilitiesList());
          Optional<ContentSource> source = ContentSources.of(request);
          VolumeCapabilities.unsupported(request.getVolumeCapabilitiesList(), source.isPresent())
              .ifPresent(
                  reason -> {
                    throw VolumeException.invalid("volume_capabilities: " + reason);
                  });
          MutableParameters mutable = MutableParameters.parse(request.getMutableParametersMap());
          CapacityRange capacity = Requests.capacity(request.getCapacityRange());
          RbdParameters parameters = Topologies.parameters(request);
          Credentials credentials = Credentials.fromSecrets(request.getSecretsMap());
          return operations
              .start(
                  RbdVolumes.nameKey(name),
                  "CreateVolume",
                  executors.calls(parameters.clusterId()),
                  operation ->
                      created(
                          volumes.create(name, parameters, capacity, source, credentials),
                          mutable,
                          credentials))
              .thenApply(volume -> created(volume, request));
        });
  }

  private CreatedVolume created(
      CreatedVolume volume, MutableParameters mutable, Credentials credentials) {
    if (!mutable.metadata().isEmpty()) {
      volumes.modify(volume.id(), mutable, credentials);
    }
    return volume;
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
    Answer.to(observer, Family.CSI, answer -> snapshots.create(request));
  }

  @Override
  public void deleteSnapshot(
      DeleteSnapshotRequest request, StreamObserver<DeleteSnapshotResponse> observer) {
    Answer.to(observer, Family.CSI, answer -> snapshots.delete(request));
  }

  @Override
  public void deleteVolume(
      DeleteVolumeRequest request, StreamObserver<DeleteVolumeResponse> observer) {
    Answer.to(
        observer,
        Family.CSI,
        answer -> {
          Optional<VolumeId> id = VolumeId.parse(required(request.getVolumeId(), "volume_id"));
          DeleteVolumeResponse done = DeleteVolumeResponse.getDefaultInstance();
          if (id.isEmpty()) {
            return CompletableFuture.completedFuture(done); // no such volume can exist
          }
          Credentials credentials = Credentials.fromSecrets(request.getSecretsMap());
          return operations.start(
              id.get().toString(),
              "DeleteVolume",
              executors.calls(id.get().clusterId()),
              operation -> {
                volumes.delete(id.get(), credentials);
                return done;
              });
        });
  }

  @Override
  public void validateVolumeCapabilities(
      ValidateVolumeCapabilitiesRequest request,
      StreamObserver<ValidateVolumeCapabilitiesResponse> observer) {
    Answer.to(
        observer,
        Family.CSI,
        answer -> {
          required(request.getVolumeId(), "volume_id");
          VolumeCapabilities.requireComplete(request.getVolumeCapabilitiesList());
          VolumeId id = Requests.volumeId(request.getVolumeId());
          Credentials credentials = Credentials.fromSecrets(request.getSecretsMap());
          return operations.read(
              "ValidateVolumeCapabilities of " + id,
              executors.calls(id.clusterId()),
              () -> {
                volumes.size(id, credentials);
                return validated(request);
              });
        });
  }

  private static ValidateVolumeCapabilitiesResponse validated(
      ValidateVolumeCapabilitiesRequest request) {
    // A volume that exists may have content by now, whatever it was made from.
    Optional<String> reason =
        VolumeCapabilities.unsupported(request.getVolumeCapabilitiesList(), true);
    ValidateVolumeCapabilitiesResponse.Builder response =
        ValidateVolumeCapabilitiesResponse.newBuilder();
    if (reason.isPresent()) {
      return response.setMessage(reason.get()).build();
    }
    return response
        .setConfirmed(
            ValidateVolumeCapabilitiesResponse.Confirmed.newBuilder()
                .putAllVolumeContext(request.getVolumeContextMap())
                .addAllVolumeCapabilities(request.getVolumeCapabilitiesList())
                .putAllParameters(request.getParametersMap())
                .putAllMutableParameters(request.getMutableParametersMap()))
        .build();
  }

  @Override
  public void controllerExpandVolume(
      ControllerExpandVolumeRequest request,
      StreamObserver<ControllerExpandVolumeResponse> observer) {
    Answer.to(
        observer,
        Family.CSI,
        answer -> {
          required(request.getVolumeId(), "volume_id");
          if (!request.hasCapacityRange()) {
            throw VolumeException.invalid("capacity_range is required");
          }
          CapacityRange capacity = Requests.capacity(request.getCapacityRange());
          VolumeId id = Requests.volumeId(request.getVolumeId());
          Credentials credentials = Credentials.fromSecrets(request.getSecretsMap());
          boolean block = request.getVolumeCapability().hasBlock();
          return operations
              .start(
                  id.toString(),
                  "ControllerExpandVolume",
                  executors.calls(id.clusterId()),
                  operation -> volumes.expand(id, capacity, credentials))
              .thenApply(
                  size ->
                      ControllerExpandVolumeResponse.newBuilder()
                          .setCapacityBytes(size)
                          .setNodeExpansionRequired(!block)
                          .build());
        });
  }
}
