package io.cephcsi.driver.app;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.DaemonThreads;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.journal.JournalDirectory;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Prepares a controller for its first calls, a moment after its start and while it has nothing to
 * do: it connects to the clusters with the driver's own credentials, lists one volume, and asks for
 * volumes and snapshots that do not exist. This changes nothing, loads the classes of the calls and
 * has them linked. See {@code docs/decisions/start.md}.
 *
 * <p>Only pools and file systems where this instance has a journal are asked. A call that comes
 * first makes this needless. What fails is left to the first call.
 */
final class WarmUp implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(WarmUp.class);
  private static final Duration DELAY = Duration.ofSeconds(30);
  private static final int ROUNDS = 5; // the first loads classes, the others have them compiled
  private static final int PATIENCE_SECONDS = 30;
  private static final long BYTES = 1L << 20;

  /**
   * What does not exist, of all starts of all drivers: the name that CreateVolume reserves for a
   * moment is always the same, so that the next start takes back what a process left that was
   * killed in that moment. Of two that prepare themselves at once, one call is ABORTED.
   */
  private static final UUID NONE = UUID.fromString("c745c425-5b58-4414-b4af-f64c19d41a0c");

  static final String NAME = "none-" + NONE;

  private final DriverConnections access;
  private final ControllerGrpc.ControllerImplBase controller;
  private final String instanceId;
  private final OperationRegistry operations;
  private final Thread thread = DaemonThreads.of("warm-up", this::run);

  private WarmUp(
      DriverConnections access,
      ControllerGrpc.ControllerImplBase controller,
      String instanceId,
      OperationRegistry operations) {
    this.access = access;
    this.controller = controller;
    this.instanceId = instanceId;
    this.operations = operations;
  }

  /**
   * Begins in the background.
   *
   * @param access the clusters, and the driver's own credentials
   * @param controller whose calls are prepared
   * @param instanceId of the journals
   * @param operations what the controller does now
   */
  static WarmUp start(
      DriverConnections access,
      ControllerGrpc.ControllerImplBase controller,
      String instanceId,
      OperationRegistry operations) {
    WarmUp warmUp = new WarmUp(access, controller, instanceId, operations);
    warmUp.thread.start();
    return warmUp;
  }

  private void run() {
    try {
      Thread.sleep(DELAY.toMillis());
      for (ClusterConfig cluster : access.clusters()) {
        if (operations.running().isEmpty()) {
          prepareIfPossible(cluster);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      LOG.debug("not prepared for calls", e);
    }
  }

  private void prepareIfPossible(ClusterConfig cluster) throws InterruptedException {
    try {
      prepare(cluster);
    } catch (RuntimeException | ExecutionException | TimeoutException e) {
      LOG.debug("not prepared for calls on a cluster", e);
    }
  }

  private void prepare(ClusterConfig cluster)
      throws InterruptedException, ExecutionException, TimeoutException {
    long begun = System.nanoTime();
    Optional<Place> place = access.connected(cluster, this::place);
    if (place.isEmpty()) {
      return;
    }
    CompletableFuture.supplyAsync( // a command to the manager has no timeout
            () -> access.connected(cluster, lease -> ask(lease, place.get())),
            task -> DaemonThreads.of("warm-up-ask", task).start())
        .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    for (int i = 0; i < ROUNDS; i++) {
      call(cluster.clusterId(), place.get());
    }
    LOG.info(
        "prepared for calls on cluster {} in {} ms",
        cluster.clusterId(),
        TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun));
  }

  /**
   * Where volumes of a cluster are.
   *
   * @param id of the pool or file system, as in an identifier
   * @param parameters that name it in a StorageClass
   */
  private record Place(long id, Map<String, String> parameters) {}

  private Optional<Place> place(Lease lease) {
    return switch (access.storage()) {
      case RBD ->
          Storage.RBD.journalPools(lease).stream()
              .filter(pool -> hasJournal(lease, pool))
              .findFirst()
              .map(pool -> new Place(pool, Map.of("pool", lease.cluster().poolName(pool))));
      case CEPHFS ->
          lease
              .fileSystems()
              .find(files -> hasJournal(lease, files.metadataPoolId()))
              .map(files -> new Place(files.id(), Map.of("fsName", files.name())));
    };
  }

  private boolean hasJournal(Lease lease, long poolId) {
    IoContext io = access.storage().open(lease, poolId);
    return new JournalDirectory(JournalKind.VOLUME, instanceId, io).isThere();
  }

  /**
   * Asks for an image or a subvolume that does not exist, as no call does: librbd makes its threads
   * with the first image, and the manager is connected by the first command.
   */
  private boolean ask(Lease lease, Place place) {
    try {
      switch (access.storage()) {
        case RBD -> new RbdPool(lease.rbdPool(place.id())).openReadOnly(NAME).close();
        case CEPHFS ->
            lease.toManager(
                CephCommand.of(
                    "fs subvolume info",
                    Map.of("vol_name", place.parameters().get("fsName"), "sub_name", NAME)));
      }
      return true;
    } catch (CephException e) {
      LOG.debug("answered: {}", e.toString());
      return false;
    }
  }

  private void call(String clusterId, Place place)
      throws InterruptedException, ExecutionException, TimeoutException {
    Credentials user = access.credentials(clusterId, Map.of());
    Map<String, String> secrets =
        Map.of(
            "userID", user.userId(),
            "userKey", user.key(),
            "adminID", user.userId(),
            "adminKey", user.key());
    String id = new VolumeId(clusterId, place.id(), NONE).toString();
    CreateVolumeRequest create =
        CreateVolumeRequest.newBuilder()
            .setName(NAME)
            .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(BYTES))
            .addVolumeCapabilities(
                VolumeCapability.newBuilder()
                    .setMount(VolumeCapability.MountVolume.getDefaultInstance())
                    .setAccessMode(
                        VolumeCapability.AccessMode.newBuilder()
                            .setMode(VolumeCapability.AccessMode.Mode.SINGLE_NODE_WRITER)))
            .putAllParameters(place.parameters())
            .putParameters("clusterID", clusterId)
            .putAllSecrets(secrets)
            .setVolumeContentSource(
                VolumeContentSource.newBuilder()
                    .setSnapshot(VolumeContentSource.SnapshotSource.newBuilder().setSnapshotId(id)))
            .build();
    CreateSnapshotRequest snapshot =
        CreateSnapshotRequest.newBuilder()
            .setName(NAME)
            .setSourceVolumeId(id)
            .putParameters("clusterID", clusterId)
            .putAllSecrets(secrets)
            .build();
    ControllerExpandVolumeRequest expand =
        ControllerExpandVolumeRequest.newBuilder()
            .setVolumeId(id)
            .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(BYTES))
            .putAllSecrets(secrets)
            .build();
    DeleteSnapshotRequest deleteSnapshot =
        DeleteSnapshotRequest.newBuilder().setSnapshotId(id).putAllSecrets(secrets).build();
    DeleteVolumeRequest delete =
        DeleteVolumeRequest.newBuilder().setVolumeId(id).putAllSecrets(secrets).build();
    ListVolumesRequest list = ListVolumesRequest.newBuilder().setMaxEntries(1).build();
    await(answer -> controller.listVolumes(list, Answer.to(answer)));
    await(answer -> controller.createVolume(create, Answer.to(answer)));
    await(answer -> controller.createSnapshot(snapshot, Answer.to(answer)));
    await(answer -> controller.controllerExpandVolume(expand, Answer.to(answer)));
    await(answer -> controller.deleteSnapshot(deleteSnapshot, Answer.to(answer)));
    await(answer -> controller.deleteVolume(delete, Answer.to(answer)));
  }

  private static void await(Consumer<CompletableFuture<Void>> call)
      throws InterruptedException, ExecutionException, TimeoutException {
    CompletableFuture<Void> answered = new CompletableFuture<>();
    call.accept(answered);
    answered.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  /** That there was an answer is enough: most are NOT_FOUND. */
  private record Answer<T>(CompletableFuture<Void> answered) implements StreamObserver<T> {
    static <T> Answer<T> to(CompletableFuture<Void> answered) {
      return new Answer<>(answered);
    }

    @Override
    public void onNext(T response) {
      // it ends with onCompleted
    }

    @Override
    public void onError(Throwable failure) {
      LOG.debug("answered: {}", failure.toString());
      answered.complete(null);
    }

    @Override
    public void onCompleted() {
      answered.complete(null);
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
