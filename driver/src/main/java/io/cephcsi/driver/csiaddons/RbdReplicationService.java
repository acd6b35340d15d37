package io.cephcsi.driver.csiaddons;

import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import com.google.protobuf.MessageOrBuilder;
import com.google.protobuf.Timestamp;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.csi.Requests;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.metrics.CopyStates;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.mirror.RbdReplication;
import io.cephcsi.driver.rbd.mirror.ReplicationInfo;
import io.cephcsi.driver.rbd.parameters.ReplicationParameters;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.replication.ControllerGrpc;
import io.cephcsi.proto.addons.replication.DemoteVolumeRequest;
import io.cephcsi.proto.addons.replication.DemoteVolumeResponse;
import io.cephcsi.proto.addons.replication.DisableVolumeReplicationRequest;
import io.cephcsi.proto.addons.replication.DisableVolumeReplicationResponse;
import io.cephcsi.proto.addons.replication.EnableVolumeReplicationRequest;
import io.cephcsi.proto.addons.replication.EnableVolumeReplicationResponse;
import io.cephcsi.proto.addons.replication.GetReplicationDestinationInfoRequest;
import io.cephcsi.proto.addons.replication.GetReplicationDestinationInfoResponse;
import io.cephcsi.proto.addons.replication.GetVolumeReplicationInfoRequest;
import io.cephcsi.proto.addons.replication.GetVolumeReplicationInfoResponse;
import io.cephcsi.proto.addons.replication.PromoteVolumeRequest;
import io.cephcsi.proto.addons.replication.PromoteVolumeResponse;
import io.cephcsi.proto.addons.replication.ReplicationDestination;
import io.cephcsi.proto.addons.replication.ReplicationSource;
import io.cephcsi.proto.addons.replication.ResyncVolumeRequest;
import io.cephcsi.proto.addons.replication.ResyncVolumeResponse;
import io.grpc.stub.StreamObserver;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/** CSI-Addons Replication of RBD volumes: decode, lock, call, encode. */
public final class RbdReplicationService extends ControllerGrpc.ControllerImplBase {
  /** Where requests of older callers have the volume's id. */
  private static final int OLD_VOLUME_ID = 1;

  private final RbdReplication replication;
  private final OperationRegistry operations;
  private final ClusterExecutors executors;
  private final CopyStates copies;

  /**
   * @param replication does the work
   * @param operations locks ids
   * @param executors run what blocks
   * @param copies told of what is answered, for the metrics
   */
  public RbdReplicationService(
      RbdReplication replication,
      OperationRegistry operations,
      ClusterExecutors executors,
      CopyStates copies) {
    this.replication = replication;
    this.operations = operations;
    this.executors = executors;
    this.copies = copies;
  }

  @Override
  public void enableVolumeReplication(
      EnableVolumeReplicationRequest request,
      StreamObserver<EnableVolumeReplicationResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          VolumeId id = volume(request.getReplicationSource(), request);
          var parameters = ReplicationParameters.parse(request.getParametersMap());
          Credentials user = Storage.RBD.credentials(request.getSecretsMap());
          return changed(
              id,
              "EnableVolumeReplication",
              () -> replication.enable(id, parameters, user),
              EnableVolumeReplicationResponse.getDefaultInstance());
        });
  }

  @Override
  public void disableVolumeReplication(
      DisableVolumeReplicationRequest request,
      StreamObserver<DisableVolumeReplicationResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          VolumeId id = volume(request.getReplicationSource(), request);
          var parameters = ReplicationParameters.parse(request.getParametersMap());
          Credentials user = Storage.RBD.credentials(request.getSecretsMap());
          return changed(
              id,
              "DisableVolumeReplication",
              () -> {
                replication.disable(id, parameters, user);
                copies.remove(id.toString());
              },
              DisableVolumeReplicationResponse.getDefaultInstance());
        });
  }

  @Override
  public void promoteVolume(
      PromoteVolumeRequest request, StreamObserver<PromoteVolumeResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          VolumeId id = volume(request.getReplicationSource(), request);
          var parameters = ReplicationParameters.parse(request.getParametersMap());
          Credentials user = Storage.RBD.credentials(request.getSecretsMap());
          return changed(
              id,
              "PromoteVolume",
              () -> replication.promote(id, request.getForce(), parameters, user),
              PromoteVolumeResponse.getDefaultInstance());
        });
  }

  @Override
  public void demoteVolume(
      DemoteVolumeRequest request, StreamObserver<DemoteVolumeResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          VolumeId id = volume(request.getReplicationSource(), request);
          Credentials user = Storage.RBD.credentials(request.getSecretsMap());
          return changed(
              id,
              "DemoteVolume",
              () -> {
                replication.demote(id, request.getForce(), user);
                copies.remove(id.toString());
              },
              DemoteVolumeResponse.getDefaultInstance());
        });
  }

  @Override
  public void resyncVolume(
      ResyncVolumeRequest request, StreamObserver<ResyncVolumeResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          VolumeId id = volume(request.getReplicationSource(), request);
          Credentials user = Storage.RBD.credentials(request.getSecretsMap());
          return started(id, "ResyncVolume", () -> replication.resync(id, request.getForce(), user))
              .thenApply(ready -> ResyncVolumeResponse.newBuilder().setReady(ready).build());
        });
  }

  @Override
  public void getVolumeReplicationInfo(
      GetVolumeReplicationInfoRequest request,
      StreamObserver<GetVolumeReplicationInfoResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          VolumeId id = volume(request.getReplicationSource(), request);
          Credentials user = Storage.RBD.credentials(request.getSecretsMap());
          return operations
              .read(
                  "GetVolumeReplicationInfo of " + id,
                  executor(id),
                  () -> replication.info(id, user))
              .thenApply(
                  info -> {
                    copies.put(
                        id.toString(),
                        info.lastSync(),
                        info.health().name().toLowerCase(Locale.ROOT));
                    return encode(info);
                  });
        });
  }

  @Override
  public void getReplicationDestinationInfo(
      GetReplicationDestinationInfoRequest request,
      StreamObserver<GetReplicationDestinationInfoResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          VolumeId id = volume(request.getReplicationSource());
          Credentials user = Storage.RBD.credentials(request.getSecretsMap());
          return operations
              .read(
                  "GetReplicationDestinationInfo of " + id,
                  executor(id),
                  () -> replication.destination(id, user))
              .thenApply(RbdReplicationService::encode);
        });
  }

  private <T> CompletableFuture<T> changed(VolumeId id, String kind, Runnable change, T response) {
    return started(
        id,
        kind,
        () -> {
          change.run();
          return response;
        });
  }

  private <T> CompletableFuture<T> started(VolumeId id, String kind, Supplier<T> work) {
    return operations.start(id.toString(), kind, executor(id), operation -> work.get());
  }

  private Executor executor(VolumeId id) {
    return executors.calls(Storage.RBD, id.clusterId());
  }

  /** The volume of a request, also where older callers have its id. */
  private static VolumeId volume(ReplicationSource source, MessageOrBuilder request) {
    if (source.getTypeCase() != ReplicationSource.TypeCase.TYPE_NOT_SET) {
      return volume(source);
    }
    List<ByteString> old =
        request.getUnknownFields().getField(OLD_VOLUME_ID).getLengthDelimitedList();
    return volume(old.isEmpty() ? "" : old.get(old.size() - 1).toString(StandardCharsets.UTF_8));
  }

  private static VolumeId volume(ReplicationSource source) {
    if (source.hasVolumegroup()) {
      throw new VolumeException(
          Reason.UNIMPLEMENTED,
          "volume groups are not mirrored as one: replicate each of their volumes");
    }
    return volume(source.getVolume().getVolumeId());
  }

  private static VolumeId volume(String id) {
    Requests.required(id, "replication_source.volume.volume_id");
    return Requests.volumeId(id);
  }

  private static GetVolumeReplicationInfoResponse encode(ReplicationInfo info) {
    GetVolumeReplicationInfoResponse.Builder response =
        GetVolumeReplicationInfoResponse.newBuilder()
            .setLastSyncTime(Timestamp.newBuilder().setSeconds(info.lastSync().getEpochSecond()))
            .setLastSyncBytes(info.bytes())
            .setStatus(
                switch (info.health()) {
                  case ERROR -> GetVolumeReplicationInfoResponse.Status.ERROR;
                  case DEGRADED -> GetVolumeReplicationInfoResponse.Status.DEGRADED;
                  case UNKNOWN -> GetVolumeReplicationInfoResponse.Status.UNKNOWN;
                  case HEALTHY -> GetVolumeReplicationInfoResponse.Status.HEALTHY;
                })
            .setStatusMessage(info.message());
    info.duration()
        .ifPresent(
            time ->
                response.setLastSyncDuration(Duration.newBuilder().setSeconds(time.toSeconds())));
    return response.build();
  }

  private static GetReplicationDestinationInfoResponse encode(VolumeId id) {
    return GetReplicationDestinationInfoResponse.newBuilder()
        .setReplicationDestination(
            ReplicationDestination.newBuilder()
                .setVolume(
                    ReplicationDestination.VolumeDestination.newBuilder()
                        .setVolumeId(id.toString())))
        .build();
  }
}
