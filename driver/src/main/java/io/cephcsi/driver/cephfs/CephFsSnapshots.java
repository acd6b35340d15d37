package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.Journal.Reservation;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.tracker.Trackers;
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
   * @throws VolumeException NOT_FOUND if the source does not exist, unless an earlier call took the
   *     snapshot; INVALID_ARGUMENT if it is shallow; ALREADY_EXISTS if the name is that of another
   *     source's snapshot
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
    return volumes.changing(
        volumes.clusters().requireOf(source, "volume"),
        credentials,
        lease -> {
          OpenFileSystem files =
              OpenFileSystem.withId(lease, source.location(), volumes.instanceId())
                  .orElseThrow(() -> noVolume(source))
                  .with(volumes.keys(credentials));
          try (OperationRegistry.Hold hold =
              operations.share(source.toString(), "CreateSnapshot")) {
            return files
                .volumes()
                .byUuid(source.uuid())
                .map(entry -> create(requestName, new OpenVolume(source, files, entry), namePrefix))
                .or(() -> takenBefore(requestName, source, files))
                .orElseThrow(() -> noVolume(source));
          }
        });
  }

  private static VolumeException noVolume(VolumeId id) {
    return VolumeException.notFound("volume " + id + " does not exist");
  }

  /**
   * The snapshot that an earlier call took of a volume that is deleted by now, which keeps what is
   * in it; the reservation of a call that did not come so far is removed.
   */
  private Optional<CreatedSnapshot> takenBefore(
      String requestName, VolumeId source, OpenFileSystem files) {
    Optional<JournalEntry> found =
        files
            .snapshots()
            .byName(requestName)
            .filter(entry -> entry.source().orElse("").endsWith(source.uuid().toString()))
            .filter(entry -> entry.groupId().isEmpty())
            .filter(entry -> !isDeleted(files, volumes.trackers(), entry));
    if (found.isEmpty()) {
      return Optional.empty();
    }
    JournalEntry entry = found.get();
    if (AttachmentJournal.isBeingDeleted(entry)) {
      endUndo(entry, files);
      return Optional.empty();
    }
    Optional<Taken> taken = taken(files, entry);
    if (taken.isPresent()) {
      return Optional.of(answer(files, entry, source, taken.get()));
    }
    undoIfAbsent(entry, files);
    return Optional.empty();
  }

  private CreatedSnapshot answer(
      OpenFileSystem files, JournalEntry entry, VolumeId source, Taken taken) {
    VolumeId id = files.id(entry.uuid());
    BackingSnapshot.of(files, volumes.trackers(), id.toString()).track(entry);
    return new CreatedSnapshot(id, source, taken.size(), taken.createdAt());
  }

  /** Takes a snapshot of a volume that exists, or gives the one that the name has. */
  CreatedSnapshot create(String requestName, OpenVolume source, String namePrefix) {
    source.requireNotShallow("CreateSnapshot");
    OpenFileSystem files = source.files();
    files.keys().requireKnownKms(source.entry());
    SnapshotKey key = new SnapshotKey(source);
    Ahead<SubvolumeInfo> volume = Ahead.of(source::info);
    Reservation reserved =
        reserve(files, volumes.trackers(), requestName, key.attributes(), namePrefix);
    JournalEntry entry = reserved.entry();
    if (!entry.source().equals(Optional.of(source.name()))) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "snapshot " + requestName + " exists, of " + entry.source().orElse("another volume"));
    }
    EncryptionRequest.requireOfVolume(entry, source.entry());
    Taken taken;
    try {
      boolean opened = key.give(entry);
      taken =
          reserved.isNew()
              ? take(source, volume, entry)
              : taken(files, entry).orElseGet(() -> takeAgain(source, volume, entry));
      if (!opened) { // the first staging may have made it meanwhile, and the snapshot have files
        key.give(entry);
      }
    } catch (CephException.NotFound e) {
      undo(reserved, files);
      throw new VolumeException(
          Reason.NOT_FOUND, "volume " + source.id() + ": its subvolume is gone", e);
    } catch (VolumeException e) {
      if (e.reason() == Reason.NOT_FOUND) {
        undo(reserved, files);
      }
      throw e; // else it may have been taken all the same: the retry finds out
    } catch (CephException e) {
      throw e.errno() == Errno.EAGAIN ? CephFsVolumes.notYet("volume " + source.id(), e) : e;
    }
    return answer(files, entry, source.id(), taken);
  }

  static Reservation reserve(
      OpenFileSystem files,
      Trackers trackers,
      String requestName,
      Map<String, String> attributes,
      String namePrefix) {
    Journal journal = files.snapshots();
    Reservation reserved =
        journal.reserveOrFind(requestName, uuid -> namePrefix + uuid, attributes);
    if (reserved.isNew()) {
      return reserved;
    }
    if (AttachmentJournal.isBeingDeleted(reserved.entry())) {
      endUndo(reserved.entry(), files);
    } else if (isDeleted(files, trackers, reserved.entry())) {
      // Its user deleted it, so the name is free, but shallow volumes keep it.
      journal.freeName(reserved.entry());
    } else {
      return reserved;
    }
    return journal.reserveOrFind(requestName, uuid -> namePrefix + uuid, attributes);
  }

  /** A call was stopped that undid its reservation; its id is not used again. */
  private static void endUndo(JournalEntry entry, OpenFileSystem files) {
    files.keys().removeIfPossible(files.id(entry.uuid()), entry);
    files.deletedNames().whileSnapshotGoes(entry, () -> files.snapshots().remove(entry));
  }

  private static boolean isDeleted(OpenFileSystem files, Trackers trackers, JournalEntry entry) {
    return BackingSnapshot.of(files, trackers, files.id(entry.uuid()).toString()).isDeleted(entry);
  }

  /**
   * Takes the snapshot.
   *
   * @param volume what the manager says of the source
   * @throws VolumeException NOT_FOUND if the subvolume is gone, before this call makes anything
   * @throws CephException.NotFound as well
   */
  private Taken take(OpenVolume source, Ahead<SubvolumeInfo> volume, JournalEntry entry) {
    SubvolumeInfo from = volume.answer();
    SubvolumeAdmin admin = source.files().admin();
    Ahead<Optional<SnapshotInfo>> ahead =
        Ahead.behind(() -> admin.snapshotInfo(source.name(), entry.name()));
    admin.createSnapshot(source.name(), entry.name());
    SnapshotInfo info =
        ahead
            .answer()
            .or(() -> admin.snapshotInfo(source.name(), entry.name()))
            .orElseThrow(
                () ->
                    new VolumeException(
                        Reason.ABORTED, "snapshot " + entry.name() + " was deleted meanwhile"));
    volumes.paths().remember(source.files(), entry, from, info.createdAt());
    return new Taken(from.quota(), info.createdAt());
  }

  /** The call that reserved the name may be about to undo that. */
  private Taken takeAgain(OpenVolume source, Ahead<SubvolumeInfo> volume, JournalEntry entry) {
    return take(source, volume, source.files().snapshots().takeOver(entry));
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

  /**
   * Takes a reservation back, unless the snapshot is there: while this call waited, another driver
   * may have taken it and returned it to a caller. A failure is only logged.
   */
  private static void undo(Reservation reserved, OpenFileSystem files) {
    if (!reserved.isNew()) {
      return;
    }
    try {
      undoIfAbsent(reserved.entry(), files);
    } catch (RuntimeException e) {
      LOG.warn(
          "the journal entry of {} could not be removed; the repeated call uses or"
              + " removes it: {}",
          reserved.entry().requestName(),
          e.toString());
    }
  }

  /** Of a volume that does not exist any more: it cannot be taken again. */
  private static void undoIfAbsent(JournalEntry entry, OpenFileSystem files) {
    if (files.admin().snapshotInfo(entry.source().orElse(""), entry.name()).isEmpty()) {
      files
          .deletedNames()
          .whileSnapshotGoes(
              entry,
              () ->
                  files
                      .snapshots()
                      .undoUnlessTakenOver(
                          entry,
                          () -> files.keys().removeIfPossible(files.id(entry.uuid()), entry)));
    }
  }

  /**
   * Deletes a snapshot; while shallow volumes show it, it stays in the file system. One that does
   * not exist is deleted already.
   */
  public void delete(VolumeId id, Credentials credentials) {
    volumes.changing(
        volumes.clusters().holding(id, "snapshot"),
        credentials,
        lease -> {
          OpenFileSystem.withId(lease, id.location(), volumes.instanceId())
              .ifPresent(files -> delete(id, files.with(volumes.keys(credentials))));
          return null;
        });
  }

  private void delete(VolumeId id, OpenFileSystem files) {
    Optional<JournalEntry> entry = files.snapshots().byUuid(id.uuid());
    if (entry.isPresent()) {
      files.groups().requireAlone(id, entry.get());
      files.keys().requireKnownKms(entry.get());
      try (OperationRegistry.Hold hold =
          operations.hold(
              OperationRegistry.snapshotName(entry.get().requestName()), "DeleteSnapshot")) {
        BackingSnapshot.of(files, volumes.trackers(), id.toString()).delete(entry.get());
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
