package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.encryption.KeyAccess;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.kms.FileSecret;
import io.cephcsi.driver.kms.KmsCatalog;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.StaticVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Arrays;
import java.util.Map;
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
  private final KmsCatalog kms;
  private final SnapshotPaths paths = new SnapshotPaths();
  private final KnownSubvolumes known = new KnownSubvolumes();
  private final Trackers trackers = new Trackers();
  private final LateCommands late;

  /**
   * @param clusters the configured clusters
   * @param connections connections to them
   * @param operations where sources, and names of volumes that are deleted by id, are locked
   * @param instanceId tells several drivers on one file system apart
   * @param kms who keeps what opens encrypted files
   */
  public CephFsVolumes(
      ClusterDirectory clusters,
      ConnectionPool connections,
      OperationRegistry operations,
      String instanceId,
      KmsCatalog kms) {
    this(clusters, connections, operations, instanceId, kms, LateCommands.Times.USUAL);
  }

  CephFsVolumes(
      ClusterDirectory clusters,
      ConnectionPool connections,
      OperationRegistry operations,
      String instanceId,
      KmsCatalog kms,
      LateCommands.Times times) {
    this.clusters = clusters;
    this.connections = connections;
    this.operations = operations;
    this.instanceId = instanceId;
    this.kms = kms;
    this.late = new LateCommands(connections, instanceId, paths, times);
  }

  /**
   * Makes a volume, or gives the one that the name has.
   *
   * @param wait how long it may wait for content that is being copied
   * @throws VolumeException ABORTED with how far it is while content is being copied;
   *     FAILED_PRECONDITION if the metadata servers refuse its pin
   */
  public CreatedVolume create(CephFsRequest request, Credentials credentials, CopyWait wait) {
    ClusterConfig cluster = clusters.require(request.parameters().clusterId());
    return changing(
        cluster,
        credentials,
        lease -> {
          OpenFileSystem files =
              OpenFileSystem.named(lease, request.parameters().fileSystem(), instanceId)
                  .with(keys(credentials));
          return new CephFsVolumeCreation(files, request, paths, known, trackers, operations, wait)
              .make();
        });
  }

  /** As {@link CephFsVolumeDeletion}; a volume that does not exist is deleted already. */
  public void delete(VolumeId id, Credentials credentials) {
    changing(
        clusters.holding(id, "volume"),
        credentials,
        lease -> {
          find(id, lease, credentials).ifPresent(this::deleteLocked);
          return null;
        });
  }

  private void deleteLocked(OpenVolume volume) {
    JournalEntry entry = volume.entry();
    try (OperationRegistry.Hold hold =
        operations.hold(OperationRegistry.volumeName(entry.requestName()), "DeleteVolume")) {
      new CephFsVolumeDeletion(volume.files(), trackers, entry).carryOut();
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
    return BackingSnapshot.of(files, trackers, snapshotId);
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
          try {
            return volume
                .files()
                .admin()
                .grow(volume.name(), capacity.sizeToCreate())
                .orElseThrow(volume::gone)
                .quota();
          } finally {
            known.forget(volume.files(), volume.entry());
          }
        });
  }

  /**
   * Pins a volume to metadata servers.
   *
   * @throws VolumeException NOT_FOUND if it does not exist; INVALID_ARGUMENT for a shallow volume,
   *     which is in another's directory; FAILED_PRECONDITION if the metadata servers refuse it
   */
  public void pin(VolumeId id, MdsPin pin, Credentials credentials) {
    with(
        id,
        credentials,
        volume -> {
          volume.requireNotShallow("ControllerModifyVolume");
          try {
            pin.applyTo(volume.files().admin(), volume.name());
          } catch (CephException.NotFound e) {
            throw new VolumeException(
                Reason.NOT_FOUND, "volume " + id + ": its subvolume is gone", e);
          }
          return null;
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

  /**
   * Where a volume's data are.
   *
   * @param context of the volume: the path in it saves asking the manager
   * @throws VolumeException NOT_FOUND if the volume does not exist, or what it shows is gone;
   *     FAILED_PRECONDITION if context and journal differ in its encryption
   */
  public VolumeLocation locate(VolumeId id, Map<String, String> context, Credentials credentials) {
    return with(
        id,
        credentials,
        volume -> {
          Optional<FileSecret> secret = StagedSecret.of(volume, context, kms);
          return volume
              .entry()
              .backingSnapshot()
              .map(snapshot -> shown(volume, snapshot))
              .orElseGet(() -> own(volume, Optional.ofNullable(context.get("subvolumePath"))))
              .openedBy(secret);
        });
  }

  /**
   * Requires that a cluster keeps how files are encrypted; one round trip.
   *
   * @throws VolumeException FAILED_PRECONDITION if not
   */
  public void requireFileEncryption(ClusterConfig cluster, Credentials credentials) {
    connected(
        cluster,
        credentials,
        lease -> {
          FileEncryptionSupport.require(lease);
          return null;
        });
  }

  /**
   * Where the data of a volume are that no driver made.
   *
   * @throws VolumeException INVALID_ARGUMENT if its context does not say it; NOT_FOUND if there is
   *     nothing
   */
  public VolumeLocation locate(StaticVolume volume, Credentials credentials) {
    StaticDirectory directory = StaticDirectory.of(volume);
    Optional<FileSecret> secret = StagedSecret.of(volume, credentials, kms);
    return connected(
        clusters.require(directory.clusterId()),
        credentials,
        lease -> directory.find(lease, paths).openedBy(secret));
  }

  private static VolumeLocation own(OpenVolume volume, Optional<String> knownPath) {
    String subvolume = volume.files().subvolumePath(volume.name());
    String path =
        knownPath
            .filter(known -> isBelow(known, subvolume))
            .orElseGet(() -> volume.info().path().orElseThrow());
    return new VolumeLocation(
        volume.files().lease().config(), volume.files().info().name(), path, Optional.empty());
  }

  /** Whether a path leads into a folder, and by no detour. */
  static boolean isBelow(String path, String folder) {
    return path.startsWith(folder + "/")
        && Arrays.stream(path.substring(folder.length() + 1).split("/", -1))
            .noneMatch(part -> part.isEmpty() || part.equals(".") || part.equals(".."));
  }

  private VolumeLocation shown(OpenVolume volume, String snapshotId) {
    OpenFileSystem files = volume.files();
    ResolvedSnapshot snapshot =
        backing(files, snapshotId)
            .entry()
            .flatMap(entry -> paths.find(files, entry))
            .orElseThrow(
                () ->
                    VolumeException.notFound(
                        "volume " + volume.id() + ": the snapshot " + snapshotId + " is gone"));
    return new VolumeLocation(
        files.lease().config(),
        files.info().name(),
        snapshot.root(),
        Optional.of(snapshot.path().substring(snapshot.root().length() + 1)));
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
    ClusterConfig cluster = clusters.requireOf(id, "volume");
    return connected(
        cluster,
        credentials,
        lease ->
            work.apply(
                find(id, lease, credentials)
                    .orElseThrow(
                        () -> VolumeException.notFound("volume " + id + " does not exist"))));
  }

  private Optional<OpenVolume> find(VolumeId id, Lease lease, Credentials credentials) {
    return OpenFileSystem.withId(lease, id.location(), instanceId)
        .map(files -> files.with(keys(credentials)))
        .flatMap(
            files ->
                files.volumes().byUuid(id.uuid()).map(entry -> new OpenVolume(id, files, entry)));
  }

  <T> T connected(ClusterConfig cluster, Credentials credentials, Function<Lease, T> work) {
    return connections.connected(cluster, credentials, work);
  }

  /** As {@link #connected}, for work that creates or deletes. */
  <T> T changing(ClusterConfig cluster, Credentials credentials, Function<Lease, T> work) {
    return connected(
        cluster,
        credentials,
        lease -> {
          try {
            return work.apply(lease);
          } finally { // behind what it recorded
            late.lookLater(cluster, credentials, lease.cluster().fsid());
          }
        });
  }

  /** The keys of what is encrypted, for a call of a user. */
  KeyAccess keys(Credentials credentials) {
    return new KeyAccess(kms, credentials.others());
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
    late.close();
    paths.close();
  }
}
