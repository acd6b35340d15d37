package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.tracker.AddResult;
import io.cephcsi.driver.tracker.ReferenceState;
import io.cephcsi.driver.tracker.ReferenceTracker;
import io.cephcsi.driver.tracker.RemoveResult;
import io.cephcsi.driver.tracker.TrackerState;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;
import java.util.Set;

/**
 * The backing snapshot of shallow volumes and its references: one for the CSI snapshot itself,
 * until DeleteSnapshot, and one for each shallow volume. The call that removes the last reference
 * removes the snapshot.
 *
 * <p>The reference tracker orders concurrent additions and removals. Without a tracker, a mark in
 * the snapshot's journal entry does: a deletion sets it before it removes its reference, and an
 * addition reads it after it has added one.
 *
 * @param files the file system that it is in
 * @param tracker of the file system
 * @param id the identifier of the CSI snapshot
 */
record BackingSnapshot(OpenFileSystem files, ReferenceTracker tracker, String id) {
  static BackingSnapshot of(OpenFileSystem files, Trackers trackers, String id) {
    return new BackingSnapshot(files, trackers.in(files.metadata()), id);
  }

  /** The journal entry of the snapshot; empty when it is gone. One round trip. */
  Optional<JournalEntry> entry() {
    return VolumeId.parse(id).flatMap(snapshot -> files.snapshots().byUuid(snapshot.uuid()));
  }

  /**
   * Records that the CSI snapshot refers to it; it exists. It was not taken by this call if another
   * driver took it while the manager let this one wait; so its user may have deleted it since.
   *
   * @param snapshot what the journal said of it before it was taken
   * @throws VolumeException ABORTED if it was deleted meanwhile: then what is left of it is removed
   */
  void track(JournalEntry snapshot) {
    tracker.add(id, Set.of(id));
    if (isDeleted()) {
      delete(snapshot);
      throw new VolumeException(
          Reason.ABORTED, "snapshot " + id + " was deleted meanwhile; try again");
    }
  }

  /**
   * Adds the reference of a new shallow volume, made from the CSI snapshot. Called again, for a
   * volume that has it already, it changes nothing, even when the user deleted the snapshot since.
   *
   * @throws VolumeException NOT_FOUND if the CSI snapshot is deleted, ABORTED while that is going
   *     on
   */
  Addition referTo(String volume) {
    if (entry().orElseThrow(this::deleted).isDeleted()) {
      requireReference(volume);
      return new Addition(false, true);
    }
    AddResult addition = tracker.add(id, Set.of(id, volume));
    boolean added = addition.added().contains(volume);
    if (added && (addition.masked().contains(id) || isDeleted())) {
      withdraw(volume);
      throw deleted();
    }
    return new Addition(added, !addition.added().contains(id));
  }

  /**
   * What the addition of a volume's reference did.
   *
   * @param isNew whether this call added it
   * @param wasTracked whether the CSI snapshot had its own reference before: then a deletion that
   *     comes later finds that of the volume. Else one may be going on that sees neither, as by
   *     ceph-csi
   */
  record Addition(boolean isNew, boolean wasTracked) {}

  /**
   * Adds the reference of a new shallow volume, made from another one. That one's reference keeps
   * the snapshot meanwhile, or the snapshot's own does: where there is no tracker, it gets both.
   *
   * @param from the reference of that other one
   * @param snapshot what the journal said of the CSI snapshot
   * @throws VolumeException NOT_FOUND if neither is there any more
   */
  Addition referTo(String volume, String from, JournalEntry snapshot) {
    Set<String> keys = snapshot.isDeleted() ? Set.of(volume) : Set.of(id, volume);
    boolean added = tracker.add(id, keys).added().contains(volume);
    if (!added) {
      return new Addition(false, false);
    }
    Optional<TrackerState> state = tracker.read(id, Set.of(id, from));
    if (is(ReferenceState.NORMAL, from, state)) {
      return new Addition(true, false);
    }
    boolean deleted = isDeleted();
    if (!deleted && is(ReferenceState.NORMAL, id, state)) {
      return new Addition(true, false);
    }
    if (deleted) {
      withdraw(volume);
    } else {
      release(volume);
    }
    throw VolumeException.notFound(
        "volume_content_source: the shallow volume " + from + " does not exist any more");
  }

  private static boolean is(ReferenceState expected, String key, Optional<TrackerState> state) {
    return state.filter(read -> read.reference(key) == expected).isPresent();
  }

  /** Whether the CSI snapshot is marked as deleted by its user, or gone. */
  private boolean isDeleted() {
    return entry().map(JournalEntry::isDeleted).orElse(true);
  }

  /**
   * Whether the user deleted the CSI snapshot, by this driver or by ceph-csi, which only masks its
   * reference; one round trip, unless the journal says so.
   */
  boolean isDeleted(JournalEntry snapshot) {
    return snapshot.isDeleted() || is(ReferenceState.MASK, id, tracker.read(id, Set.of(id)));
  }

  private VolumeException deleted() {
    return VolumeException.notFound("snapshot " + id + " does not exist");
  }

  /**
   * The user deleted the snapshot. A volume that has its reference stays, if the snapshot's own was
   * taken after that: then the call that took it saw that of the volume.
   */
  private void requireReference(String volume) {
    Optional<TrackerState> state = tracker.read(id, Set.of(id, volume));
    if (!is(ReferenceState.NORMAL, volume, state)) {
      throw deleted();
    }
    if (is(ReferenceState.NORMAL, id, state)) {
      throw new VolumeException(Reason.ABORTED, "snapshot " + id + " is being deleted; try again");
    }
  }

  /** Whether a shallow volume has its reference. */
  boolean holds(String volume) {
    return is(ReferenceState.NORMAL, volume, tracker.read(id, Set.of(volume)));
  }

  /** Removes what is left in the tracker of a snapshot that is gone. */
  void forget(String volume) {
    if (tracker.remove(id, volume) == RemoveResult.REMAINING) {
      tracker.mask(id, id);
    }
  }

  /**
   * Removes a reference that was added too late: the snapshot's own reference was removed for good.
   */
  private void withdraw(String volume) {
    RemoveResult own = tracker.mask(id, id);
    if (own == RemoveResult.LAST
        || tracker.remove(id, volume, this::markDeleted) == RemoveResult.LAST) {
      remove();
    }
  }

  /**
   * Removes the reference of a shallow volume, and the snapshot if it was the last and its user
   * deleted it. That its own reference is not there is no proof of that: it may have no tracker,
   * and ceph-csi may have taken it away with that of a volume.
   */
  void release(String volume) {
    RemoveResult removal = tracker.remove(id, volume, this::markDeleted);
    if (removal == RemoveResult.LAST
        || (removal != RemoveResult.REMAINING
            && entry().filter(JournalEntry::isDeleted).isPresent())) {
      remove();
    }
  }

  /** The user deletes the snapshot: its own reference goes, and it too if that was the last. */
  void delete(JournalEntry entry) {
    if (!entry.isDeleted()) {
      try {
        files.snapshots().markDeleted(entry.uuid());
      } catch (CephException.NotFound e) {
        // Another driver has just deleted it, but a late command may have taken it again.
      }
    }
    if (tracker.mask(id, id) != RemoveResult.REMAINING) {
      remove(entry);
    }
  }

  /** So that a retry goes on: of a snapshot that ceph-csi deleted only the tracker says so. */
  private void markDeleted() {
    entry()
        .filter(entry -> !entry.isDeleted())
        .ifPresent(entry -> files.snapshots().markDeleted(entry.uuid()));
  }

  private void remove() {
    entry().ifPresent(this::remove);
  }

  private void remove(JournalEntry entry) {
    entry.requireOwnName();
    files.keys().requireKnownKms(entry);
    try {
      files
          .deletedNames()
          .whileSnapshotGoes(
              entry,
              () ->
                  entry
                      .source()
                      .ifPresent(source -> files.admin().removeSnapshot(source, entry.name())));
    } catch (CephException e) {
      if (e.errno() == Errno.EAGAIN) {
        throw CephFsVolumes.inUse("snapshot " + id + " is being copied", e);
      }
      throw e;
    }
    files.keys().remove(files.id(entry.uuid()), entry);
    files.snapshots().remove(entry);
  }
}
