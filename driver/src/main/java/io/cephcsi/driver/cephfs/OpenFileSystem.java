package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.encryption.KeyAccess;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * A file system of a connected cluster, as one call works on it.
 *
 * @param lease the connection
 * @param info the file system
 * @param metadata the pool and namespace of its journals and trackers
 * @param admin the manager's commands on its subvolumes
 * @param instanceId tells several drivers on one file system apart
 * @param keys of what is encrypted in it
 */
record OpenFileSystem(
    Lease lease,
    FileSystemInfo info,
    IoContext metadata,
    SubvolumeAdmin admin,
    String instanceId,
    KeyAccess keys) {
  /**
   * Opens a file system by its name; one round trip, unless it is remembered.
   *
   * @throws VolumeException INVALID_ARGUMENT if the cluster has none of this name
   */
  static OpenFileSystem named(Lease lease, String name, String instanceId) {
    return find(lease, fileSystem -> fileSystem.name().equals(name), instanceId)
        .orElseThrow(
            () ->
                VolumeException.invalid(
                    "parameters: cluster \""
                        + lease.config().clusterId()
                        + "\" has no file system "
                        + name));
  }

  /**
   * Opens a file system by its id; one round trip, unless it is remembered. Empty if it is gone,
   * and all that was in it.
   */
  static Optional<OpenFileSystem> withId(Lease lease, long id, String instanceId) {
    try {
      return find(lease, fileSystem -> fileSystem.id() == id, instanceId);
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /** What is remembered of a file system that was removed since leads to a pool that is gone. */
  private static Optional<OpenFileSystem> find(
      Lease lease, Predicate<FileSystemInfo> wanted, String instanceId) {
    try {
      return lease.fileSystems().find(wanted).map(info -> open(lease, info, instanceId));
    } catch (CephException.NotFound e) {
      lease.fileSystems().forget();
      return lease.fileSystems().find(wanted).map(info -> open(lease, info, instanceId));
    }
  }

  static OpenFileSystem open(Lease lease, FileSystemInfo info, String instanceId) {
    return new OpenFileSystem(
        lease,
        info,
        Storage.CEPHFS.open(lease, info.metadataPoolId()),
        new SubvolumeAdmin(
            command -> lease.toManager(command).text(),
            info.name(),
            lease.config().subvolumeGroup()),
        instanceId,
        KeyAccess.none());
  }

  /** The same for a call that may meet what is encrypted. */
  OpenFileSystem with(KeyAccess access) {
    return new OpenFileSystem(lease, info, metadata, admin, instanceId, access);
  }

  Journal volumes() {
    return new Journal(JournalKind.VOLUME, instanceId, metadata, metadata, lease.reservations());
  }

  /** Undoes the reservation of a volume, unless another call has gone on with it. */
  void undo(JournalEntry volume) {
    volumes().undoUnlessTakenOver(volume, () -> keys.removeIfPossible(id(volume.uuid()), volume));
  }

  Journal snapshots() {
    return new Journal(JournalKind.SNAPSHOT, instanceId, metadata, metadata, lease.reservations());
  }

  GroupJournal groups() {
    return new GroupJournal(instanceId, metadata, metadata, lease.reservations());
  }

  DeletedNames deletedNames() {
    return new DeletedNames(metadata, instanceId, lease.config().subvolumeGroup());
  }

  /** A set of subvolumes whose clients stand still. */
  Quiesce quiesce(String setId) {
    return new Quiesce(
        command -> lease.toManager(command).text(),
        info.name(),
        lease.config().subvolumeGroup(),
        setId);
  }

  String clusterId() {
    return lease.config().clusterId();
  }

  VolumeId id(java.util.UUID uuid) {
    return new VolumeId(clusterId(), info.id(), uuid);
  }

  /** What tells an entry from those of all other file systems, in memory. */
  String key(JournalEntry entry) {
    return lease.cluster().fsid() + "/" + info.id() + "/" + entry.uuid();
  }

  /** The directory of the subvolumes. */
  String groupPath() {
    return "/volumes/" + lease.config().subvolumeGroup();
  }

  /** The directory of a subvolume, which has its data and snapshots, and outlives it. */
  String subvolumePath(String subvolume) {
    return groupPath() + "/" + subvolume;
  }
}
