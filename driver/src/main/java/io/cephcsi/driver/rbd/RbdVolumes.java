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
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.PoolMismatchException;
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
      capacity.sizeToCreate(); // refuses a range that nothing fits, before anything is touched
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
          Journal journal =
              new Journal(
                  JournalKind.VOLUME, instanceId, poolOf(lease, parameters.journalPool()), io);
          JournalEntry entry = reserve(journal, requestName, parameters);
          long size =
              maker.make(
                  new VolumeMaking(
                      lease,
                      () -> connections.lease(cluster, credentials),
                      new RbdPool(io),
                      journal,
                      entry,
                      parameters,
                      capacity,
                      source,
                      imageId -> purger.purge(cluster, credentials, io, imageId)));
          return created(parameters, io, entry, size);
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

  private static JournalEntry reserve(
      Journal journal, String requestName, RbdParameters parameters) {
    Map<String, String> attributes = new LinkedHashMap<>();
    parameters.owner().ifPresent(owner -> attributes.put(JournalEntry.OWNER, owner));
    try {
      return journal.reserve(requestName, uuid -> parameters.namePrefix() + uuid, attributes);
    } catch (PoolMismatchException e) {
      throw new VolumeException(Reason.ALREADY_EXISTS, e.explain(), e);
    }
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
    ClusterConfig cluster = clusters.clusters().get(id.clusterId());
    if (cluster == null) {
      // Not proof that the volume is gone: the configuration may be wrong.
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "cluster \"" + id.clusterId() + "\" of volume " + id + " is not configured");
    }
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
    JournalEntry entry = volume.entry();
    try (OperationRegistry.Hold hold =
        operations.hold(OperationRegistry.volumeName(entry.requestName()), "DeleteVolume")) {
      entry
          .groupId()
          .ifPresent(
              group -> {
                throw new VolumeException(
                    Reason.FAILED_PRECONDITION,
                    "volume " + volume.id() + " is a member of group " + group);
              });
      AttachmentJournal attachments = new AttachmentJournal(instanceId, volume.pool().io());
      String mark;
      try {
        mark = attachments.beginDeletion(volume.id(), entry);
      } catch (VolumeException e) {
        if (e.reason() == Reason.NOT_FOUND) {
          return; // another driver has just deleted it
        }
        throw e;
      }
      List<String> images;
      try {
        images = new ImageDisposal(volume).dispose();
      } catch (VolumeException e) {
        attachments.endDeletion(volume.id(), mark);
        throw e;
      }
      journalOf(volume).remove(entry);
      images.forEach(id -> purger.purge(cluster, credentials, volume.pool().io(), id));
    }
  }

  private Journal journalOf(OpenVolume volume) {
    IoContext imagePool = volume.pool().io();
    IoContext journalPool =
        volume.entry().journalPoolId().isPresent()
            ? volume.lease().rbdPool(volume.entry().journalPoolId().getAsLong())
            : imagePool;
    return new Journal(JournalKind.VOLUME, instanceId, journalPool, imagePool);
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
          try (RbdImage image = volume.open()) {
            parameters.applyTo(image);
          }
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
    ClusterConfig cluster = clusters.clusters().get(id.clusterId());
    if (cluster == null) {
      throw VolumeException.notFound(
          "volume " + id + ": its cluster \"" + id.clusterId() + "\" is not configured");
    }
    return connected(
        cluster,
        credentials,
        lease ->
            work.apply(
                find(id, lease)
                    .orElseThrow(
                        () -> VolumeException.notFound("volume " + id + " does not exist"))));
  }

  /** What snapshots share with volumes: the background work on trash and chains of clones. */
  TrashPurger purger() {
    return purger;
  }

  /** As {@link #purger}. */
  CloneBounds bounds() {
    return bounds;
  }

  private Optional<OpenVolume> find(VolumeId id, Lease lease) {
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

  /** Runs work on a leased connection; one that turns out blocklisted is replaced. */
  <T> T connected(ClusterConfig cluster, Credentials credentials, Function<Lease, T> work) {
    try (Lease lease = connections.lease(cluster, credentials)) {
      try {
        return work.apply(lease);
      } catch (CephException.Blocklisted e) {
        lease.discard();
        throw e;
      }
    }
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
