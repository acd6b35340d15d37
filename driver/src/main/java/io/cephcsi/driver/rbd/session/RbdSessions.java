package io.cephcsi.driver.rbd.session;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.background.Flattener;
import io.cephcsi.driver.rbd.background.ManagerCommands;
import io.cephcsi.driver.rbd.background.MgrTasks;
import io.cephcsi.driver.rbd.background.TrashQueue;
import io.cephcsi.driver.rbd.background.TrashRemoval;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.RbdSettings;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Opens the session of each call on RBD, and owns the work in the background: the removal of images
 * from the trash, and flattening. Safe for several threads; calls block on the cluster.
 */
public final class RbdSessions implements AutoCloseable {
  private final ClusterDirectory clusters;
  private final ConnectionPool connections;
  private final ClusterExecutors executors;
  private final OperationRegistry operations;
  private final RbdSettings settings;
  private final ManagerCommands managers = new ManagerCommands();
  private final MgrTasks tasks = new MgrTasks(managers);
  private final Flattener flattener = new Flattener(tasks);
  private final TrashQueue trash;

  /**
   * @param clusters the configured clusters
   * @param connections connections to them
   * @param executors threads to read with
   * @param operations where names and ids are locked
   * @param settings how volumes are treated
   */
  public RbdSessions(
      ClusterDirectory clusters,
      ConnectionPool connections,
      ClusterExecutors executors,
      OperationRegistry operations,
      RbdSettings settings) {
    this.clusters = clusters;
    this.connections = connections;
    this.executors = executors;
    this.operations = operations;
    this.settings = settings;
    this.trash = new TrashQueue(connections, new TrashRemoval(tasks, settings.instanceId()));
  }

  /** The configured clusters. */
  public ClusterDirectory clusters() {
    return clusters;
  }

  /** Works on a cluster. */
  public <T> T in(ClusterConfig cluster, Credentials user, Function<RbdSession, T> work) {
    return connections.connected(
        cluster, user, lease -> work.apply(new RbdSession(this, lease, user)));
  }

  /**
   * Works on a volume that exists.
   *
   * @throws VolumeException NOT_FOUND if it does not
   */
  public <T> T with(VolumeId id, Credentials user, Function<OpenVolume, T> work) {
    return search(
            id,
            user,
            (session, at) -> session.find(id, at),
            volume -> new Result<>(work.apply(volume)))
        .orElseThrow(
            () -> {
              clusters.requireOf(id, "volume");
              return VolumeException.notFound("volume " + id + " does not exist");
            })
        .value();
  }

  /**
   * Works on a volume if it exists, and once on each of the pools where it may be.
   *
   * @param pools what is done with a pool before
   * @throws VolumeException FAILED_PRECONDITION if no cluster where it may be is configured, or its
   *     image is there and the journal does not know it
   */
  public void ifPresent(
      VolumeId id,
      Credentials user,
      BiConsumer<RbdSession, IoContext> pools,
      Consumer<OpenVolume> work) {
    ifPresent(
        "volume",
        id,
        user,
        (session, at) -> {
          session.pool(at).ifPresent(io -> pools.accept(session, io));
          Optional<OpenVolume> found = session.find(id, at);
          if (found.isEmpty() && !at.equals(id)) {
            requireNoImage(session, id, at);
          }
          return found;
        },
        work);
  }

  /**
   * Works on a snapshot if it exists, as {@link #ifPresent}.
   *
   * @throws VolumeException FAILED_PRECONDITION if no cluster where it may be is configured, or an
   *     image of its name is there and the journal does not know it
   */
  public void ifSnapshotPresent(
      VolumeId id,
      Credentials user,
      BiConsumer<RbdSession, IoContext> pools,
      Consumer<OpenSnapshot> work) {
    ifPresent(
        "snapshot",
        id,
        user,
        (session, at) -> {
          session.pool(at).ifPresent(io -> pools.accept(session, io));
          Optional<OpenSnapshot> found = session.findSnapshot(id, at);
          String name = SnapshotParameters.DEFAULT_PREFIX + id.uuid();
          if (found.isEmpty() && !at.equals(id) && hasImage(session, name, at)) {
            throw new VolumeException(
                Reason.FAILED_PRECONDITION,
                "snapshot " + id + " has an image here, but no journal entry: nothing is deleted");
          }
          return found;
        },
        work);
  }

  /**
   * Works on something that is to be given back, if it exists.
   *
   * @param what it is, such as {@code volume group}
   * @param look as of {@link #search}
   * @throws VolumeException FAILED_PRECONDITION if no cluster where it may be is configured
   */
  public <F> void ifPresent(
      String what,
      VolumeId id,
      Credentials user,
      BiFunction<RbdSession, VolumeId, Optional<F>> look,
      Consumer<F> work) {
    clusters.requireHolding(id, what);
    search(
        id,
        user,
        look,
        found -> {
          work.accept(found);
          return true;
        });
  }

  private static boolean hasImage(RbdSession session, String name, VolumeId at) {
    return session.pool(at).flatMap(io -> ImageId.find(new RbdPool(io), name)).isPresent();
  }

  /** An image that is of no volume by its metadata is nobody's to delete. */
  private static void requireNoImage(RbdSession session, VolumeId id, VolumeId at) {
    String name = RbdParameters.DEFAULT_PREFIX + id.uuid();
    if (hasImage(session, name, at)) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume "
              + id
              + " has an image here, but no journal entry, and the metadata of the image do not tell"
              + " its name: ceph-csi's controller of volumes makes the entry");
    }
  }

  /**
   * Looks where an identifier says, and then, as after a failover, where the cluster mapping says:
   * also if the user may not look into the first pool, whose number may be another pool's here. No
   * round trip more for what is where its identifier says.
   *
   * @param look gets the session of a cluster that is configured, and what the identifier is there
   * @param work is done with what was found
   * @throws CephException.Denied if the user may not look into the first pool, and no other has it
   * @throws VolumeException UNAVAILABLE if the configuration of a cluster that is to be searched
   *     cannot be used
   */
  public <F, T> Optional<T> search(
      VolumeId id,
      Credentials user,
      BiFunction<RbdSession, VolumeId, Optional<F>> look,
      Function<F, T> work) {
    AtomicReference<CephException.@Nullable Denied> denied = new AtomicReference<>();
    Optional<T> found =
        clusters
            .find(id.clusterId())
            .flatMap(
                own ->
                    in(
                        own,
                        user,
                        session -> looked(() -> look.apply(session, id), denied).map(work)));
    if (found.isPresent()) {
      return found;
    }
    for (VolumeId at : clusters.mapping().alternatives(id)) {
      found =
          clusters
              .find(at.clusterId())
              .flatMap(other -> in(other, user, session -> look.apply(session, at).map(work)));
      if (found.isPresent()) {
        return found;
      }
    }
    CephException.Denied refusal = denied.get();
    if (refusal != null) {
      throw refusal;
    }
    return Optional.empty();
  }

  private static <F> Optional<F> looked(
      Supplier<Optional<F>> look, AtomicReference<CephException.@Nullable Denied> denied) {
    try {
      return look.get();
    } catch (CephException.Denied e) {
      denied.set(e);
      return Optional.empty();
    }
  }

  /** What work gave, which may be nothing. */
  private record Result<T>(T value) {}

  /**
   * Works on an image that no driver made; whether it exists shows when it is opened.
   *
   * @throws VolumeException INVALID_ARGUMENT if the cluster is not configured; NOT_FOUND if it has
   *     no such pool
   */
  public <T> T with(StaticImage image, Credentials user, Function<OpenImage, T> work) {
    return connections.connected(
        clusters.require(image.clusterId()),
        user,
        lease ->
            work.apply(
                new OpenImage(
                    image.volumeId(), lease, pool(image, lease), image.name(), Optional.empty())));
  }

  private static RbdPool pool(StaticImage image, Lease lease) {
    try {
      return new RbdPool(lease.rbdPool(image.pool()));
    } catch (CephException.NotFound e) {
      throw new VolumeException(
          Reason.NOT_FOUND,
          "volume "
              + image.volumeId()
              + " does not exist: cluster \""
              + image.clusterId()
              + "\" has no pool "
              + image.pool(),
          e);
    }
  }

  ConnectionPool connections() {
    return connections;
  }

  ClusterExecutors executors() {
    return executors;
  }

  /** Where names and ids are locked. */
  public OperationRegistry operations() {
    return operations;
  }

  /** How volumes are treated. */
  public RbdSettings settings() {
    return settings;
  }

  Flattener flattener() {
    return flattener;
  }

  ManagerCommands managers() {
    return managers;
  }

  TrashQueue trash() {
    return trash;
  }

  /** Ends the work in the background. */
  @Override
  public void close() {
    flattener.close();
    trash.close();
  }
}
