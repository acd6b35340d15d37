package io.cephcsi.driver.csi;

import static io.cephcsi.driver.csi.Requests.required;

import com.google.protobuf.Timestamp;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.CreatedSnapshot;
import io.cephcsi.driver.volume.GroupSnapshot;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CreateVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeGroupSnapshotResponse;
import io.cephcsi.proto.csi.v1.DeleteVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeGroupSnapshotResponse;
import io.cephcsi.proto.csi.v1.GetVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.GetVolumeGroupSnapshotResponse;
import io.cephcsi.proto.csi.v1.GroupControllerGetCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.GroupControllerGetCapabilitiesResponse;
import io.cephcsi.proto.csi.v1.GroupControllerGrpc;
import io.cephcsi.proto.csi.v1.GroupControllerServiceCapability;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.grpc.stub.StreamObserver;
import java.time.Instant;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** CSI GroupController: decode, lock, call, encode. */
public final class GroupControllerService extends GroupControllerGrpc.GroupControllerImplBase {
  private static final String ID = "group_snapshot_id";

  private final Optional<DriverConnections> own;
  private final GroupSnapshotBackend backend;
  private final OperationRegistry operations;
  private final ClusterExecutors executors;

  /**
   * @param own the clusters, with the driver's own credentials, for what is asked without secrets;
   *     empty without
   * @param backend does the work
   * @param operations locks names and ids
   * @param executors run what blocks
   */
  public GroupControllerService(
      Optional<DriverConnections> own,
      GroupSnapshotBackend backend,
      OperationRegistry operations,
      ClusterExecutors executors) {
    this.own = own;
    this.backend = backend;
    this.operations = operations;
    this.executors = executors;
  }

  @Override
  public void groupControllerGetCapabilities(
      GroupControllerGetCapabilitiesRequest request,
      StreamObserver<GroupControllerGetCapabilitiesResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> backend.advertised().thenApply(GroupControllerService::capabilities));
  }

  private static GroupControllerGetCapabilitiesResponse capabilities(boolean advertised) {
    GroupControllerGetCapabilitiesResponse.Builder response =
        GroupControllerGetCapabilitiesResponse.newBuilder();
    if (advertised) {
      response.addCapabilities(
          GroupControllerServiceCapability.newBuilder()
              .setRpc(
                  GroupControllerServiceCapability.RPC
                      .newBuilder()
                      .setType(
                          GroupControllerServiceCapability.RPC
                              .Type
                              .CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT)));
    }
    return response.build();
  }

  @Override
  public void createVolumeGroupSnapshot(
      CreateVolumeGroupSnapshotRequest request,
      StreamObserver<CreateVolumeGroupSnapshotResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          String name = required(request.getName(), "name");
          Set<VolumeId> sources = ids(request.getSourceVolumeIdsList(), "source_volume_ids");
          GroupSnapshotBackend.Creation creation = backend.creation(request.getParametersMap());
          Credentials user = backend.storage().credentials(request.getSecretsMap());
          return operations
              .start(
                  OperationRegistry.groupName(name),
                  "CreateVolumeGroupSnapshot",
                  executor(sources.iterator().next().clusterId()),
                  operation -> creation.create(name, sources, user))
              .thenApply(
                  taken ->
                      CreateVolumeGroupSnapshotResponse.newBuilder()
                          .setGroupSnapshot(encode(taken))
                          .build());
        });
  }

  @Override
  public void deleteVolumeGroupSnapshot(
      DeleteVolumeGroupSnapshotRequest request,
      StreamObserver<DeleteVolumeGroupSnapshotResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          Optional<VolumeId> id = VolumeId.parse(required(request.getGroupSnapshotId(), ID));
          DeleteVolumeGroupSnapshotResponse done =
              DeleteVolumeGroupSnapshotResponse.getDefaultInstance();
          if (id.isEmpty()) {
            return CompletableFuture.completedFuture(done); // no such snapshot can exist
          }
          Set<String> expected = texts(request.getSnapshotIdsList(), "snapshot_ids");
          Credentials user = backend.storage().credentials(request.getSecretsMap());
          return operations.start(
              id.get().toString(),
              "DeleteVolumeGroupSnapshot",
              executor(id.get().clusterId()),
              operation -> {
                backend.delete(id.get(), expected, user);
                return done;
              });
        });
  }

  @Override
  public void getVolumeGroupSnapshot(
      GetVolumeGroupSnapshotRequest request,
      StreamObserver<GetVolumeGroupSnapshotResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI,
        answer -> {
          String text = required(request.getGroupSnapshotId(), ID);
          VolumeId id =
              VolumeId.parse(text)
                  .orElseThrow(
                      () ->
                          VolumeException.notFound(
                              "group snapshot "
                                  + text
                                  + " does not exist: this is no id of this driver"));
          Set<String> expected = texts(request.getSnapshotIdsList(), "snapshot_ids");
          Credentials user =
              Requests.credentials(own, backend.storage(), id, request.getSecretsMap());
          return operations
              .read(
                  "GetVolumeGroupSnapshot of " + id,
                  executor(id.clusterId()),
                  () -> backend.get(id, expected, user))
              .thenApply(
                  taken ->
                      GetVolumeGroupSnapshotResponse.newBuilder()
                          .setGroupSnapshot(encode(taken))
                          .build());
        });
  }

  private Executor executor(String clusterId) {
    return executors.calls(backend.storage(), clusterId);
  }

  private static Set<String> texts(List<String> texts, String field) {
    if (texts.isEmpty()) {
      throw VolumeException.invalid(field + " is required");
    }
    texts.forEach(text -> required(text, field));
    return new LinkedHashSet<>(texts);
  }

  private static Set<VolumeId> ids(List<String> texts, String field) {
    Set<VolumeId> ids = new LinkedHashSet<>();
    for (String text : texts(texts, field)) {
      ids.add(
          VolumeId.parse(text)
              .orElseThrow(
                  () ->
                      VolumeException.notFound(
                          field + ": " + text + " does not exist: this is no id of this driver")));
    }
    return ids;
  }

  private static VolumeGroupSnapshot encode(GroupSnapshot taken) {
    VolumeGroupSnapshot.Builder encoded =
        VolumeGroupSnapshot.newBuilder()
            .setGroupSnapshotId(taken.id().toString())
            .setCreationTime(timestamp(taken.createdAt()))
            .setReadyToUse(true);
    for (CreatedSnapshot snapshot : taken.snapshots()) {
      encoded.addSnapshots(
          Snapshot.newBuilder()
              .setSnapshotId(snapshot.id().toString())
              .setSourceVolumeId(snapshot.source().toString())
              .setSizeBytes(snapshot.size())
              .setCreationTime(timestamp(snapshot.createdAt()))
              .setReadyToUse(true)
              .setGroupSnapshotId(taken.id().toString()));
    }
    return encoded.build();
  }

  private static Timestamp timestamp(Instant time) {
    return Timestamp.newBuilder()
        .setSeconds(time.getEpochSecond())
        .setNanos(time.getNano())
        .build();
  }
}
