package io.cephcsi.driver.csi;

import static io.cephcsi.driver.csi.Requests.required;

import com.google.protobuf.Timestamp;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.CreatedSnapshot;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateSnapshotResponse;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotResponse;
import io.cephcsi.proto.csi.v1.Snapshot;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** The calls of the controller on snapshots of volumes: decode, lock, call, encode. */
final class SnapshotCalls {
  private final ControllerBackend backend;
  private final OperationRegistry operations;

  SnapshotCalls(ControllerBackend backend, OperationRegistry operations) {
    this.backend = backend;
    this.operations = operations;
  }

  CompletableFuture<CreateSnapshotResponse> create(CreateSnapshotRequest request) {
    String name = required(request.getName(), "name");
    String volume = required(request.getSourceVolumeId(), "source_volume_id");
    VolumeId source =
        VolumeId.parse(volume)
            .orElseThrow(
                () ->
                    VolumeException.notFound(
                        "source_volume_id "
                            + volume
                            + " does not exist: this is no id of this driver"));
    ControllerBackend.SnapshotCreation creation =
        backend.snapshotCreation(request.getParametersMap());
    Credentials credentials = backend.storage().credentials(request.getSecretsMap());
    return operations
        .start(
            OperationRegistry.snapshotName(name),
            "CreateSnapshot",
            backend.executor(source.clusterId()),
            operation -> creation.create(name, source, credentials))
        .thenApply(SnapshotCalls::created);
  }

  private static CreateSnapshotResponse created(CreatedSnapshot snapshot) {
    return CreateSnapshotResponse.newBuilder()
        .setSnapshot(
            Snapshot.newBuilder()
                .setSnapshotId(snapshot.id().toString())
                .setSourceVolumeId(snapshot.source().toString())
                .setSizeBytes(snapshot.size())
                .setCreationTime(timestamp(snapshot.createdAt()))
                .setReadyToUse(true))
        .build();
  }

  private static Timestamp timestamp(Instant time) {
    return Timestamp.newBuilder()
        .setSeconds(time.getEpochSecond())
        .setNanos(time.getNano())
        .build();
  }

  CompletableFuture<DeleteSnapshotResponse> delete(DeleteSnapshotRequest request) {
    Optional<VolumeId> id = VolumeId.parse(required(request.getSnapshotId(), "snapshot_id"));
    DeleteSnapshotResponse done = DeleteSnapshotResponse.getDefaultInstance();
    if (id.isEmpty()) {
      return CompletableFuture.completedFuture(done); // no such snapshot can exist
    }
    Credentials credentials = backend.storage().credentials(request.getSecretsMap());
    return operations.start(
        id.get().toString(),
        "DeleteSnapshot",
        backend.executor(id.get().clusterId()),
        operation -> {
          backend.deleteSnapshot(id.get(), credentials);
          return done;
        });
  }
}
