package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.journal.AttachmentJournal.isBeingDeleted;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.TrashMove;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.PoolMismatchException;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.CreatedSnapshot;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Snapshots of RBD volumes, as images of their own:
 *
 * <pre>
 *   csi-vol-V@(trash: csi-snap-S) ← csi-snap-S@csi-snap-S
 * </pre>
 *
 * or, where the class asks for it, as {@link NativeSnapshots}. A snapshot stays what it is,
 * whatever the class says later.
 *
 * <p>All calls block on the cluster and may be repeated after a crash at any point. Locks: the
 * caller has that of the name (create) or the id (delete); create shares the source's id, delete
 * takes the name.
 */
public final class RbdSnapshots {
  private static final Logger LOG = LoggerFactory.getLogger(RbdSnapshots.class);

  private final RbdVolumes volumes;
  private final ClusterDirectory clusters;
  private final ConnectionPool connections;
  private final OperationRegistry operations;
  private final RbdSettings settings;

  /**
   * @param volumes the volumes that are snapshotted
   * @param clusters the configured clusters
   * @param connections connections to them
   * @param operations where sources and names are locked
   * @param settings how snapshots are treated
   */
  public RbdSnapshots(
      RbdVolumes volumes,
      ClusterDirectory clusters,
      ConnectionPool connections,
      OperationRegistry operations,
      RbdSettings settings) {
    this.volumes = volumes;
    this.clusters = clusters;
    this.connections = connections;
    this.operations = operations;
    this.settings = settings;
  }

  /**
   * Takes a snapshot, or gives the one that the name has.
   *
   * @param requestName the name that the CO chose
   * @param source the volume
   * @param parameters of the VolumeSnapshotClass
   * @throws VolumeException NOT_FOUND if the source does not exist; ALREADY_EXISTS if the name is
   *     that of another source's snapshot
   */
  public CreatedSnapshot create(
      String requestName, VolumeId source, SnapshotParameters parameters, Credentials credentials) {
    parameters
        .clusterId()
        .filter(cluster -> !cluster.equals(source.clusterId()))
        .ifPresent(
            cluster -> {
              throw VolumeException.invalid(
                  "parameters: clusterID is \"" + cluster + "\", but that of volume " + source);
            });
    return volumes.connected(
        clusters.requireOf(source, "volume"),
        credentials,
        lease -> {
          try (OperationRegistry.Hold hold =
              operations.share(source.toString(), "CreateSnapshot")) {
            Optional<OpenVolume> volume = volumes.find(source, lease);
            return volume.isPresent()
                ? create(requestName, volume.get(), parameters, credentials)
                : ofDeleted(requestName, source, parameters, credentials, lease);
          }
        });
  }

  private CreatedSnapshot create(
      String requestName,
      OpenVolume source,
      SnapshotParameters parameters,
      Credentials credentials) {
    Encryption.requireNone("volume " + source.id(), source.entry());
    Lease lease = source.lease();
    ClusterConfig cluster = lease.config();
    IoContext io =
        parameters.pool().map(name -> RbdVolumes.poolOf(lease, name)).orElse(source.pool().io());
    requireSamePool(parameters.staysOnImage(), source, io);
    volumes.purger().visit(cluster, credentials, io);
    Journal journal = journal(lease, journalPool(source, parameters), io);
    Attempt attempt = begin(journal, io, requestName, source, parameters);
    if (attempt.entry().isMade() || isBeingDeleted(attempt.entry())) {
      Optional<HeaderSnapshot> made =
          isBeingDeleted(attempt.entry()) ? Optional.empty() : made(io, journal, attempt.entry());
      if (made.isPresent()) {
        return created(source.id(), io, attempt.entry(), made.get());
      }
      // Its deletion has not ended; the CO still has its identifier, and deletes that.
      VolumeId id = new VolumeId(source.id().clusterId(), io.poolId(), attempt.entry().uuid());
      deleteLocked(id, lease, io, attempt.entry(), credentials);
      attempt = begin(journal, io, requestName, source, parameters);
      if (isBeingDeleted(attempt.entry())) {
        throw new VolumeException(
            Reason.ABORTED, "snapshot " + requestName + " is being deleted; try again");
      }
    }
    boolean staysOnImage = attempt.entry().nativeImage().isPresent();
    requireSamePool(staysOnImage, source, io);
    SnapshotMaker maker =
        new SnapshotMaker(
            source,
            new RbdPool(io),
            attempt,
            parameters,
            () -> connections.lease(cluster, credentials),
            imageId -> volumes.purger().purge(cluster, credentials, io, imageId));
    HeaderSnapshot snapshot =
        staysOnImage ? maker.makeNative(volumes.bounds()) : maker.make(volumes.bounds(), settings);
    return created(source.id(), io, attempt.entry(), snapshot);
  }

  private static void requireSamePool(boolean staysOnImage, OpenVolume source, IoContext io) {
    if (staysOnImage && io.poolId() != source.pool().io().poolId()) {
      throw VolumeException.invalid(
          "a native snapshot is in its volume's pool "
              + source.pool().io().pool()
              + ", it cannot be in "
              + io.pool());
    }
  }

  private static CreatedSnapshot created(
      VolumeId source, IoContext io, JournalEntry entry, HeaderSnapshot snapshot) {
    return new CreatedSnapshot(
        new VolumeId(source.clusterId(), io.poolId(), entry.uuid()),
        source,
        snapshot.size(),
        snapshot.createdAt());
  }

  /**
   * Of a volume that was deleted since: its snapshot lives on, and what is only half made goes. A
   * name that was reserved in a pool that only the volume's entry told is not found.
   */
  private CreatedSnapshot ofDeleted(
      String requestName,
      VolumeId source,
      SnapshotParameters parameters,
      Credentials credentials,
      Lease lease) {
    VolumeException missing = VolumeException.notFound("volume " + source + " does not exist");
    IoContext io =
        parameters
            .pool()
            .map(name -> RbdVolumes.poolOf(lease, name))
            .or(() -> RbdVolumes.poolOf(source, lease))
            .orElseThrow(() -> missing);
    Journal journal = journal(lease, OptionalLong.empty(), io);
    Optional<JournalEntry> found = journal.byName(requestName);
    if (found.isEmpty() && journal.imagePoolOf(requestName).equals(OptionalLong.of(io.poolId()))) {
      // A process died between the name and its entry: the entry is made, and taken back with it.
      journal.begin(requestName, names(io, parameters), Map.of()).undo(() -> {});
    }
    JournalEntry entry =
        found
            .filter(
                e ->
                    e.source()
                        .flatMap(SnapshotReader::uuidAtEnd)
                        .equals(Optional.of(source.uuid())))
            .filter(e -> e.groupId().isEmpty())
            .orElseThrow(() -> missing);
    if (entry.isMade()) {
      return created(source, io, entry, made(io, journal, entry).orElseThrow(() -> missing));
    }
    volumes.purger().visit(lease.config(), credentials, io);
    Attempt attempt = journal.begin(requestName, uuid -> entry.name(), Map.of());
    if (isBeingDeleted(attempt.entry())) {
      VolumeId id = new VolumeId(source.clusterId(), io.poolId(), entry.uuid());
      deleteLocked(id, lease, io, attempt.entry(), credentials);
    } else if (!attempt.entry().isMade()) {
      SnapshotMaker.abandon(
          new Leftovers(
              attempt,
              parameters.namePrefix(),
              imageId -> volumes.purger().purge(lease.config(), credentials, io, imageId)),
          new RbdPool(io),
          Optional.empty());
    }
    throw missing;
  }

  /** The snapshot of an entry that was made, unless its deletion has begun. */
  private static Optional<HeaderSnapshot> made(IoContext io, Journal journal, JournalEntry entry) {
    if (entry.nativeImage().isPresent()) {
      return NativeSnapshots.find(io, entry);
    }
    RbdPool pool = new RbdPool(io);
    return entry.imageId().flatMap(pool::trashEntry).isPresent()
        ? Optional.empty()
        : RecordedImage.find(pool, journal, entry).flatMap(id -> snapshotOn(io, id, entry.name()));
  }

  /** A snapshot's name is reserved where its volume's is, as ceph-csi does. */
  private static OptionalLong journalPool(OpenVolume source, SnapshotParameters parameters) {
    return parameters.pool().isPresent() ? OptionalLong.empty() : source.entry().journalPoolId();
  }

  private Journal journal(Lease lease, OptionalLong journalPool, IoContext io) {
    return new Journal(
        JournalKind.SNAPSHOT,
        settings.instanceId(),
        journalPool.isPresent() ? lease.rbdPool(journalPool.getAsLong()) : io,
        io);
  }

  private static ImageNames names(IoContext io, SnapshotParameters parameters) {
    return new ImageNames(new RbdPool(io), parameters.namePrefix());
  }

  private static Attempt begin(
      Journal journal,
      IoContext io,
      String requestName,
      OpenVolume source,
      SnapshotParameters parameters) {
    Map<String, String> attributes = new LinkedHashMap<>();
    attributes.put(JournalEntry.SOURCE, source.entry().name());
    source.entry().owner().ifPresent(owner -> attributes.put(JournalEntry.OWNER, owner));
    if (parameters.staysOnImage()) {
      attributes.put(JournalEntry.NATIVE_IMAGE, SnapshotMaker.imageId(source));
    }
    Attempt attempt;
    try {
      attempt =
          journal.begin(requestName, new SnapshotNames(names(io, parameters), source), attributes);
    } catch (PoolMismatchException e) {
      throw new VolumeException(Reason.ALREADY_EXISTS, e.explain(), e);
    }
    Optional<String> of = attempt.entry().source();
    if (!of.equals(Optional.of(source.entry().name()))) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "snapshot " + requestName + " exists, of " + of.orElse("another volume"));
    }
    return attempt;
  }

  /** The snapshot of an entry whose image was recorded: that is the last step. */
  static Optional<HeaderSnapshot> finished(IoContext io, JournalEntry entry) {
    return entry
        .imageId()
        .filter(id -> ImageId.find(new RbdPool(io), entry.name()).equals(Optional.of(id)))
        .flatMap(id -> snapshotOn(io, id, entry.name()));
  }

  /** The snapshot that carries the name of its image; two round trips. */
  static Optional<HeaderSnapshot> snapshotOn(IoContext io, String imageId, String name) {
    return ImageHeader.read(io, imageId)
        .map(header -> ImageHeader.snapshots(io, imageId, header.snapshotIds()))
        .flatMap(
            snapshots ->
                snapshots.stream()
                    .filter(s -> s.namespace() == SnapshotNamespace.USER && s.name().equals(name))
                    .findFirst());
  }

  /**
   * Deletes a snapshot: its image goes to the trash, then the journal entry goes. Volumes made from
   * it live on. One that does not exist is deleted already.
   */
  public void delete(VolumeId id, Credentials credentials) {
    ClusterConfig cluster = clusters.holding(id, "snapshot");
    volumes.connected(
        cluster,
        credentials,
        lease -> {
          Optional<IoContext> pool = RbdVolumes.poolOf(id, lease);
          if (pool.isEmpty()) {
            return null;
          }
          IoContext io = pool.get();
          volumes.purger().visit(cluster, credentials, io);
          Optional<JournalEntry> entry = journal(lease, OptionalLong.empty(), io).byUuid(id.uuid());
          if (entry.isPresent()) {
            new GroupJournal(settings.instanceId(), io, io).requireAlone(id, entry.get());
            delete(id, lease, io, entry.get(), credentials);
          }
          return null;
        });
  }

  private void delete(
      VolumeId id, Lease lease, IoContext io, JournalEntry entry, Credentials credentials) {
    try (OperationRegistry.Hold hold =
        operations.hold(OperationRegistry.snapshotName(entry.requestName()), "DeleteSnapshot")) {
      deleteLocked(id, lease, io, entry, credentials);
    }
  }

  private void deleteLocked(
      VolumeId id, Lease lease, IoContext io, JournalEntry entry, Credentials credentials) {
    ClusterConfig cluster = lease.config();
    RbdPool pool = new RbdPool(io);
    Journal journal = journal(lease, entry.journalPoolId(), io);
    if (entry.nativeImage().isPresent()) {
      Optional<String> ofVolume = removeNative(id, pool, entry);
      journal.remove(entry);
      ofVolume.ifPresent(image -> volumes.purger().purgeIfDeleted(cluster, credentials, io, image));
    } else {
      Optional<String> imageId = moveToTrash(id, pool, entry);
      journal.remove(entry);
      imageId.ifPresent(image -> volumes.purger().purge(cluster, credentials, io, image));
    }
  }

  /**
   * The snapshot is removed before the call ends: nothing else would remember it.
   *
   * @return the id of the volume's image, if that is in the trash
   */
  private static Optional<String> removeNative(VolumeId id, RbdPool pool, JournalEntry entry) {
    try {
      NativeSnapshots.remove(pool, entry);
      if (entry.outOfTrash()) {
        NativeSnapshots.backToTrash(pool, entry);
      }
    } catch (CephException.Busy e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "snapshot " + id + " is protected or its volume is busy (" + e.getMessage() + ")",
          e);
    }
    return entry.nativeImage().filter(image -> pool.trashEntry(image).isPresent());
  }

  /**
   * The image goes to the trash with its snapshot, which is removed there in the background: if no
   * clone needs it, its removal waits for the monitors' next map.
   *
   * @return the id of the image, if there is one; the caller removes the journal entry and then has
   *     it purged
   */
  static Optional<String> moveToTrash(VolumeId id, RbdPool pool, JournalEntry entry) {
    Optional<String> imageId =
        ImageId.find(pool, entry.name()).or(() -> RecordedImage.nameless(pool, entry));
    if (imageId.isEmpty()) {
      return entry.imageId().filter(image -> pool.trashEntry(image).isPresent());
    }
    try {
      ImageUse.requireUnused(pool, imageId.get(), "the image of snapshot " + id);
      TrashMove.move(pool, entry.name(), imageId.get());
    } catch (CephException.Busy e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "snapshot " + id + ": its image is in use (" + e.getMessage() + ")",
          e);
    } catch (CephException.NotFound e) {
      LOG.debug("image {} was never whole", entry.name());
      CloneWorkshop.discard(pool, entry.name(), left -> {});
    }
    return imageId;
  }
}
