package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;
import java.util.function.Function;

/**
 * Volumes as CephFS subvolumes, and shallow volumes. All calls block on the cluster and may be
 * repeated after a crash at any point; the caller holds the lock of the name or the id. Safe for
 * several threads.
 */
public final class CephFsVolumes implements AutoCloseable {
  private final ClusterDirectory clusters;
  private final ConnectionPool connections;
  private final OperationRegistry operations;
  private final String instanceId;
  private final SnapshotPaths paths = new SnapshotPaths();
  private final Trackers trackers = new Trackers();

  /**
   * @param clusters the configured clusters
   * @param connections connections to them
   * @param operations where sources, and names of volumes that are deleted by id, are locked
   * @param instanceId tells several drivers on one file system apart
   */
  public CephFsVolumes(
      ClusterDirectory clusters,
      ConnectionPool connections,
      OperationRegistry operations,
      String instanceId) {
    this.clusters = clusters;
    this.connections = connections;
    this.operations = operations;
    this.instanceId = instanceId;
  }

  /**
   * Makes a volume, or gives the one that the name has.
   *
   * @throws VolumeException ABORTED with how far it is while content is being copied
   */
  public CreatedVolume create(CephFsRequest request, Credentials credentials) {
    ClusterConfig cluster = clusters.require(request.parameters().clusterId());
    return connected(
        cluster,
        credentials,
        lease -> {
          OpenFileSystem files =
              OpenFileSystem.named(lease, request.parameters().fileSystem(), instanceId);
          return new CephFsVolumeMaker(files, request, paths, trackers, operations).make();
        });
  }

  /**
   * Deletes a volume: its subvolume, whose snapshots stay, or its reference to a snapshot, and then
   * the journal entry. A volume that does not exist is deleted already.
   */
  public void delete(VolumeId id, Credentials credentials) {
    requireConfigured(id, "volume");
    connected(
        clusters.require(id.clusterId()),
        credentials,
        lease -> {
          find(id, lease).ifPresent(this::deleteLocked);
          return null;
        });
  }

  private void deleteLocked(OpenVolume volume) {
    JournalEntry entry = volume.entry();
    try (OperationRegistry.Hold hold =
        operations.hold(OperationRegistry.volumeName(entry.requestName()), "DeleteVolume")) {
      AttachmentJournal.requireNone(volume.id(), entry);
      Optional<String> backing = entry.backingSnapshot();
      if (backing.isPresent()) {
        backing(volume.files(), backing.get()).release(entry.name());
      } else {
        removeSubvolume(volume);
      }
      volume.files().volumes().remove(entry);
    }
  }

  private static void removeSubvolume(OpenVolume volume) {
    try {
      CephFsCloner.remove(volume.files(), volume.entry());
    } catch (CephException e) {
      throw switch (e.errno()) {
        case EAGAIN -> notYet("volume " + volume.id(), e);
        case ENOTEMPTY -> inUse("volume " + volume.id() + " has snapshots", e);
        default -> e;
      };
    }
  }

  /** The manager has not finished what it does to something. */
  static VolumeException notYet(String what, CephException e) {
    return new VolumeException(
        Reason.ABORTED, what + ": the manager still works on it (" + e.getMessage() + ")", e);
  }

  static VolumeException inUse(String what, CephException e) {
    return new VolumeException(Reason.FAILED_PRECONDITION, what + " (" + e.getMessage() + ")", e);
  }

  /** A snapshot that shallow volumes show. */
  private BackingSnapshot backing(OpenFileSystem files, String snapshotId) {
    return new BackingSnapshot(files, trackers.of(files), snapshotId);
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
          volume.requireNotShallow("ControllerExpandVolume");
          long current = volume.info().quota();
          if (capacity.limit() > 0 && current > capacity.limit()) {
            throw new VolumeException(
                Reason.OUT_OF_RANGE,
                "volume " + id + " has " + current + " bytes, more than limit_bytes allows");
          }
          if (current >= capacity.required()) {
            return current;
          }
          long size = capacity.sizeToCreate();
          volume.files().admin().grow(volume.name(), size);
          return size;
        });
  }

  /**
   * Requires that a volume exists.
   *
   * @throws VolumeException NOT_FOUND if it does not, or its data are gone
   */
  public void require(VolumeId id, Credentials credentials) {
    with(
        id,
        credentials,
        volume -> {
          requireData(volume);
          return null;
        });
  }

  static void requireData(OpenVolume volume) {
    if (!volume.isShallow()) {
      volume.info();
    }
  }

  /**
   * Works on a volume that exists.
   *
   * @throws VolumeException NOT_FOUND if it does not
   */
  <T> T with(VolumeId id, Credentials credentials, Function<OpenVolume, T> work) {
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

  private Optional<OpenVolume> find(VolumeId id, Lease lease) {
    return OpenFileSystem.withId(lease, id.location(), instanceId)
        .flatMap(
            files ->
                files.volumes().byUuid(id.uuid()).map(entry -> new OpenVolume(id, files, entry)));
  }

  /**
   * Something in a cluster that is not configured is not proved gone: configuration may be wrong.
   */
  void requireConfigured(VolumeId id, String what) {
    if (clusters.clusters().get(id.clusterId()) == null) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "cluster \"" + id.clusterId() + "\" of " + what + " " + id + " is not configured");
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

  ClusterDirectory clusters() {
    return clusters;
  }

  SnapshotPaths paths() {
    return paths;
  }

  Trackers trackers() {
    return trackers;
  }

  String instanceId() {
    return instanceId;
  }

  @Override
  public void close() {
    paths.close();
  }
}
