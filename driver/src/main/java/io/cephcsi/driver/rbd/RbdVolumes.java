package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Volumes as RBD images. All calls block on the cluster and may be repeated after a crash at any
 * point; the caller holds the lock of the name or the id. Safe for several threads.
 */
public final class RbdVolumes implements AutoCloseable {
  private final ClusterDirectory clusters;
  private final ConnectionPool connections;
  private final OperationRegistry operations;
  private final String instanceId;
  private final MgrTasks tasks = new MgrTasks();
  private final CloneBounds bounds;
  private final TrashPurger purger;
  private final VolumeMaker maker;

  /**
   * @param clusters the configured clusters
   * @param connections connections to them
   * @param operations where the names of volumes that are deleted by id are locked
   * @param settings how volumes are treated
   */
  public RbdVolumes(
      ClusterDirectory clusters,
      ConnectionPool connections,
      OperationRegistry operations,
      RbdSettings settings) {
    this.clusters = clusters;
    this.connections = connections;
    this.operations = operations;
    this.instanceId = settings.instanceId();
    this.bounds = new CloneBounds(settings.limits(), tasks);
    this.purger = new TrashPurger(connections, new TrashReaper(tasks, instanceId));
    this.maker = new VolumeMaker(new Cloner(instanceId, bounds, operations), settings.labels());
  }

  /**
   * Makes a volume, or gives the one that the name has.
   *
   * @param requestName the name that the CO chose
   * @param wanted of the StorageClass
   * @param capacity how large
   * @param source where its content comes from; empty for none
   */
  public CreatedVolume create(
      String requestName,
      RbdParameters wanted,
      CapacityRange capacity,
      Optional<ContentSource> source,
      Credentials credentials) {
    if (source.isEmpty()) {
      wanted.requireSize(capacity.sizeToCreate()); // before anything is touched
    }
    ClusterConfig cluster = clusters.require(wanted.clusterId());
    return connected(
        cluster,
        credentials,
        lease -> {
          RbdParameters parameters = placed(lease, requestName, wanted);
          IoContext io = poolOf(lease, parameters.pool());
          parameters.options().dataPool().ifPresent(dataPool -> poolOf(lease, dataPool));
          purger.visit(cluster, credentials, io);
          VolumeCreation creation =
              new VolumeCreation(
                  maker,
                  recovery(lease, credentials),
                  lease,
                  () -> connections.lease(cluster, credentials),
                  requestName,
                  parameters,
                  capacity,
                  source,
                  (place, imageId) -> purger.purge(cluster, credentials, place, imageId));
          VolumeCreation.Result made;
          try {
            made = creation.make(io);
          } catch (CephException e) {
            throw PoolProblems.explain(lease, parameters, e);
          }
          return created(parameters, io, made.entry(), made.size());
        });
  }

  /**
   * Where topology leaves a choice, a name that has an image keeps its pool: the retry of a call
   * may prefer another one. One round trip, for such a StorageClass only.
   */
  private RbdParameters placed(Lease lease, String requestName, RbdParameters wanted) {
    if (wanted.alternatives().isEmpty()) {
      return wanted;
    }
    IoContext io = poolOf(lease, wanted.journalPool());
    OptionalLong pool =
        new Journal(JournalKind.VOLUME, instanceId, io, io).imagePoolOf(requestName);
    return Stream.concat(Stream.of(wanted), wanted.alternatives().stream())
        .filter(p -> pool.isPresent() && poolOf(lease, p.pool()).poolId() == pool.getAsLong())
        .findFirst()
        .orElse(wanted);
  }

  private static CreatedVolume created(
      RbdParameters parameters, IoContext io, JournalEntry entry, long size) {
    Map<String, String> context = new LinkedHashMap<>(parameters.context());
    context.put("imageName", entry.name());
    context.put("journalPool", parameters.journalPool());
    return new CreatedVolume(
        new VolumeId(parameters.clusterId(), io.poolId(), entry.uuid()),
        size,
        context,
        parameters.topology());
  }

  /**
   * Deletes a volume: its image goes to the trash and is purged from there, then the journal entry
   * goes. A volume that does not exist is deleted already.
   */
  public void delete(VolumeId id, Credentials credentials) {
    ClusterConfig cluster = clusters.holding(id, "volume");
    connected(
        cluster,
        credentials,
        lease -> {
          Optional<IoContext> pool = poolOf(id, lease);
          // A call that died behind the journal left its image in the trash, and its retry nothing
          // else to go by.
          pool.ifPresent(io -> purger.visit(cluster, credentials, io));
          find(id, lease, pool).ifPresent(volume -> deleteLocked(volume, cluster, credentials));
          return null;
        });
  }

  private void deleteLocked(OpenVolume volume, ClusterConfig cluster, Credentials credentials) {
    try (VolumeDeletion deletion = deletion(volume, credentials)) {
      if (deletion.begin()) {
        List<String> images = deletion.carryOut();
        images.forEach(id -> purger.purge(cluster, credentials, volume.pool().io(), id));
      }
    }
  }

  /** The deletion of a volume, with the lock of its name; the caller has that of its id. */
  VolumeDeletion deletion(OpenVolume volume, Credentials credentials) {
    return new VolumeDeletion(recovery(volume.lease(), credentials), operations, volume);
  }

  /** Ends snapshots of groups that a driver died over. */
  GroupSnapshotRecovery recovery(Lease lease, Credentials credentials) {
    return new GroupSnapshotRecovery(
        instanceId,
        operations,
        (io, image) -> purger.purge(lease.config(), credentials, io, image));
  }

  /**
   * Grows a volume; never shrinks it.
   *
   * @return the size afterwards, in bytes
   */
  public long expand(VolumeId id, CapacityRange capacity, Credentials credentials) {
    return with(
        id,
        credentials,
        volume -> {
          long current;
          try (RbdImage image = volume.openReadOnly()) {
            current = image.size();
          }
          if (capacity.limit() > 0 && current > capacity.limit()) {
            throw new VolumeException(
                Reason.OUT_OF_RANGE,
                "volume " + id + " has " + current + " bytes, more than limit_bytes allows");
          }
          if (current >= capacity.required()) {
            return current;
          }
          long size = capacity.sizeToCreate();
          try (RbdImage image = volume.open()) {
            ImageSizes.require(size, image.layout().objectSize());
            image.resize(size, false, Progress.NONE);
          }
          return size;
        });
  }

  /**
   * Changes what can be changed of a volume.
   *
   * @throws VolumeException NOT_FOUND if it does not exist
   */
  public void modify(VolumeId id, MutableParameters parameters, Credentials credentials) {
    with(
        id,
        credentials,
        volume -> {
          parameters.applyTo(volume.image());
          return null;
        });
  }

  /**
   * The size of a volume, in bytes.
   *
   * @throws VolumeException NOT_FOUND if it does not exist
   */
  public long size(VolumeId id, Credentials credentials) {
    return with(
        id,
        credentials,
        volume -> {
          try (RbdImage image = volume.openReadOnly()) {
            return image.size();
          }
        });
  }

  /**
   * Works on a volume that exists.
   *
   * @throws VolumeException NOT_FOUND if it does not
   */
  public <T> T with(VolumeId id, Credentials credentials, Function<OpenVolume, T> work) {
    ClusterConfig cluster = clusters.requireOf(id, "volume");
    return connected(
        cluster,
        credentials,
        lease ->
            work.apply(
                find(id, lease)
                    .orElseThrow(
                        () -> VolumeException.notFound("volume " + id + " does not exist"))));
  }

  /**
   * Works on an image that no driver made; whether it exists shows when it is opened.
   *
   * @throws VolumeException INVALID_ARGUMENT if the cluster is not configured; NOT_FOUND if it has
   *     no such pool
   */
  public <T> T with(StaticImage image, Credentials credentials, Function<OpenImage, T> work) {
    return connected(
        clusters.require(image.clusterId()),
        credentials,
        lease ->
            work.apply(new OpenImage(image.volumeId(), lease, pool(image, lease), image.name())));
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

  /**
   * Requires that an image that no driver made exists; one round trip.
   *
   * @throws VolumeException as of {@link #with(StaticImage, Credentials, Function)}
   */
  public void require(StaticImage image, Credentials credentials) {
    with(
        image,
        credentials,
        open -> {
          open.require();
          return null;
        });
  }

  /** What snapshots share with volumes: the background work on trash and chains of clones. */
  TrashPurger purger() {
    return purger;
  }

  /** As {@link #purger}. */
  CloneBounds bounds() {
    return bounds;
  }

  /** A volume that the journal knows; one round trip. */
  Optional<OpenVolume> find(VolumeId id, Lease lease) {
    return find(id, lease, poolOf(id, lease));
  }

  private Optional<OpenVolume> find(VolumeId id, Lease lease, Optional<IoContext> pool) {
    return pool.flatMap(
        io ->
            new Journal(JournalKind.VOLUME, instanceId, io, io)
                .byUuid(id.uuid())
                .map(entry -> new OpenVolume(id, lease, new RbdPool(io), entry)));
  }

  /** The pool of an identifier; empty when it is gone, and everything in it. */
  static Optional<IoContext> poolOf(VolumeId id, Lease lease) {
    try {
      return Optional.of(lease.rbdPool(id.location()));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  <T> T connected(ClusterConfig cluster, Credentials credentials, Function<Lease, T> work) {
    return connections.connected(cluster, credentials, work);
  }

  /** A connection for work that goes on after a call. */
  Lease lease(ClusterConfig cluster, Credentials credentials) {
    return connections.lease(cluster, credentials);
  }

  static IoContext poolOf(Lease lease, String pool) {
    try {
      return lease.rbdPool(pool);
    } catch (CephException.NotFound e) {
      throw new VolumeException(
          Reason.INVALID_ARGUMENT,
          "parameters: cluster \"" + lease.config().clusterId() + "\" has no pool " + pool,
          e);
    }
  }

  @Override
  public void close() {
    bounds.close();
    purger.close();
    tasks.close();
  }
}
