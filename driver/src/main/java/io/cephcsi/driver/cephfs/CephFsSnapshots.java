package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.Journal.Reservation;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.CreatedSnapshot;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Snapshots of CephFS subvolumes. All calls block on the cluster and may be repeated after a crash
 * at any point. Locks: the caller has that of the name (create) or the id (delete); create shares
 * the source's id, delete takes the name.
 */
public final class CephFsSnapshots {
  private static final Logger LOG = LoggerFactory.getLogger(CephFsSnapshots.class);

  private final CephFsVolumes volumes;
  private final OperationRegistry operations;

  /**
   * @param volumes the volumes that are snapshotted
   * @param operations where sources and names are locked
   */
  public CephFsSnapshots(CephFsVolumes volumes, OperationRegistry operations) {
    this.volumes = volumes;
    this.operations = operations;
  }

  /**
   * Takes a snapshot, or gives the one that the name has.
   *
   * @param requestName the name that the CO chose
   * @param source the volume
   * @param clusterId of the VolumeSnapshotClass; empty when it does not say
   * @param namePrefix begins the name on the cluster
   * @throws VolumeException NOT_FOUND if the source does not exist; INVALID_ARGUMENT if it is
   *     shallow; ALREADY_EXISTS if the name is that of another source's snapshot
   */
  public CreatedSnapshot create(
      String requestName,
      VolumeId source,
      Optional<String> clusterId,
      String namePrefix,
      Credentials credentials) {
    if (clusterId.isPresent() && !clusterId.get().equals(source.clusterId())) {
      throw VolumeException.invalid(
          "parameters: clusterID is \"" + clusterId.get() + "\", but that of volume " + source);
    }
    return volumes.with(
        source,
        credentials,
        volume -> {
          try (OperationRegistry.Hold hold =
              operations.share(source.toString(), "CreateSnapshot")) {
            volume.requireNotShallow("CreateSnapshot");
            return create(requestName, volume, namePrefix);
          }
        });
  }

  private CreatedSnapshot create(String requestName, OpenVolume source, String namePrefix) {
    OpenFileSystem files = source.files();
    Reservation reserved = reserve(files, requestName, source.name(), namePrefix);
    JournalEntry entry = reserved.entry();
    VolumeId id = files.id(entry.uuid());
    if (!entry.source().equals(Optional.of(source.name()))) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "snapshot " + requestName + " exists, of " + entry.source().orElse("another volume"));
    }
    try {
      Taken taken =
          reserved.isNew()
              ? take(source, entry)
              : taken(files, entry).orElseGet(() -> take(source, entry));
      new BackingSnapshot(files, volumes.trackers().of(files), id.toString()).track();
      return new CreatedSnapshot(id, source.id(), taken.size(), taken.createdAt());
    } catch (CephException.NotFound e) {
      undo(reserved, files);
      throw new VolumeException(
          Reason.NOT_FOUND, "volume " + source.id() + ": its subvolume is gone", e);
    } catch (VolumeException e) {
      undo(reserved, files);
      throw e;
    } catch (CephException e) {
      throw e.errno() == Errno.EAGAIN
          ? CephFsVolumes.notYet("volume " + source.id(), e)
          : e; // it may have been taken all the same: the retry finds out
    }
  }

  private static Reservation reserve(
      OpenFileSystem files, String requestName, String subvolume, String namePrefix) {
    Journal journal = files.snapshots();
    Reservation reserved = reserve(journal, requestName, subvolume, namePrefix);
    if (reserved.entry().isDeleted()) {
      // Its user deleted it, so the name is free, but shallow volumes keep it.
      journal.freeName(reserved.entry());
      reserved = reserve(journal, requestName, subvolume, namePrefix);
    }
    return reserved;
  }

  private static Reservation reserve(
      Journal journal, String requestName, String subvolume, String namePrefix) {
    return journal.reserveOrFind(
        requestName, uuid -> namePrefix + uuid, Map.of(JournalEntry.SOURCE, subvolume));
  }

  private static Taken take(OpenVolume source, JournalEntry entry) {
    long size = source.info().quota();
    SubvolumeAdmin admin = source.files().admin();
    admin.createSnapshot(source.name(), entry.name());
    SnapshotInfo info =
        admin
            .snapshotInfo(source.name(), entry.name())
            .orElseThrow(
                () ->
                    new VolumeException(
                        Reason.ABORTED, "snapshot " + entry.name() + " was deleted meanwhile"));
    return new Taken(size, info.createdAt());
  }

  /** A snapshot that an earlier call took. */
  private Optional<Taken> taken(OpenFileSystem files, JournalEntry entry) {
    return volumes
        .paths()
        .find(files, entry)
        .filter(
            seen -> files.admin().snapshotInfo(entry.source().orElse(""), entry.name()).isPresent())
        .map(seen -> new Taken(seen.size(), seen.createdAt()));
  }

  private static void undo(Reservation reserved, OpenFileSystem files) {
    if (!reserved.isNew()) {
      return;
    }
    try {
      files.snapshots().undo(reserved.entry());
    } catch (RuntimeException e) {
      LOG.warn(
          "the reservation of {} stays until the retry: {}",
          reserved.entry().requestName(),
          e.toString());
    }
  }

  /**
   * Deletes a snapshot; while shallow volumes show it, it stays in the file system. One that does
   * not exist is deleted already.
   */
  public void delete(VolumeId id, Credentials credentials) {
    volumes.requireConfigured(id, "snapshot");
    volumes.connected(
        volumes.clusters().require(id.clusterId()),
        credentials,
        lease -> {
          OpenFileSystem.withId(lease, id.location(), volumes.instanceId())
              .ifPresent(files -> delete(id, files));
          return null;
        });
  }

  private void delete(VolumeId id, OpenFileSystem files) {
    Optional<JournalEntry> entry = files.snapshots().byUuid(id.uuid());
    if (entry.isPresent()) {
      try (OperationRegistry.Hold hold =
          operations.hold(
              OperationRegistry.snapshotName(entry.get().requestName()), "DeleteSnapshot")) {
        new BackingSnapshot(files, volumes.trackers().of(files), id.toString()).delete(entry.get());
      }
    }
  }

  /**
   * What a snapshot's answer says of it.
   *
   * @param size of the volume then, in bytes
   * @param createdAt when
   */
  private record Taken(long size, Instant createdAt) {}
}
