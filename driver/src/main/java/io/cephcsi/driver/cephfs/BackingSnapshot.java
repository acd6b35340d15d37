package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.tracker.Addition;
import io.cephcsi.driver.tracker.ReferenceState;
import io.cephcsi.driver.tracker.ReferenceTracker;
import io.cephcsi.driver.tracker.Removal;
import io.cephcsi.driver.tracker.TrackerState;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;
import java.util.Set;

/**
 * A snapshot and what refers to it: the CSI snapshot itself, until its user deletes it, and shallow
 * volumes. Whoever takes the last reference away removes it.
 *
 * <p>Adding and removing meet in the tracker, where each sees the other, unless there is none: then
 * a mark in the snapshot's journal entry, set before its reference goes and looked at after a new
 * one came, tells the one of the other.
 *
 * @param files the file system that it is in
 * @param tracker of the file system
 * @param id the identifier of the CSI snapshot
 */
record BackingSnapshot(OpenFileSystem files, ReferenceTracker tracker, String id) {
  /** The journal entry of the snapshot; empty when it is gone. One round trip. */
  Optional<JournalEntry> entry() {
    return VolumeId.parse(id).flatMap(snapshot -> files.snapshots().byUuid(snapshot.uuid()));
  }

  /** Records that the CSI snapshot refers to it; it exists. */
  void track() {
    tracker.add(id, Set.of(id));
  }

  /**
   * Adds the reference of a new shallow volume, made from the CSI snapshot. Called again, for a
   * volume that has it already, it changes nothing, even when the user deleted the snapshot since.
   *
   * @return whether this call added it
   * @throws VolumeException NOT_FOUND if the CSI snapshot is deleted, ABORTED while that is going
   *     on
   */
  boolean referTo(String volume) {
    boolean marked = requireEntry().isDeleted();
    if (marked) {
      requireReference(volume);
      return false;
    }
    boolean added = tracker.add(id, Set.of(id, volume)).added().contains(volume);
    if (added && requireEntry().isDeleted()) {
      withdraw(volume);
      throw deleted();
    }
    return added;
  }

  /**
   * Adds the reference of a new shallow volume, made from another one.
   *
   * @param from the reference of that other one
   * @return whether this call added it
   * @throws VolumeException NOT_FOUND if the other one is deleted
   */
  boolean referTo(String volume, String from) {
    Addition addition = tracker.add(id, Set.of(volume));
    boolean added = addition.added().contains(volume);
    if (added && (addition.created() || state(from) != ReferenceState.NORMAL)) {
      release(volume);
      throw VolumeException.notFound(
          "volume_content_source: the shallow volume " + from + " does not exist any more");
    }
    return added;
  }

  private JournalEntry requireEntry() {
    return entry().orElseThrow(this::deleted);
  }

  private VolumeException deleted() {
    return VolumeException.notFound("snapshot " + id + " does not exist");
  }

  /**
   * The user deleted the snapshot. A volume that has its reference stays, if the snapshot's own was
   * taken after that: then whoever took it saw that of the volume.
   */
  private void requireReference(String volume) {
    TrackerState state = tracker.read(id).orElseThrow(this::deleted);
    if (state.reference(volume) != ReferenceState.NORMAL) {
      throw deleted();
    }
    if (state.reference(id) == ReferenceState.NORMAL) {
      throw new VolumeException(Reason.ABORTED, "snapshot " + id + " is being deleted; try again");
    }
  }

  private ReferenceState state(String key) {
    return tracker.read(id).map(state -> state.reference(key)).orElse(ReferenceState.ABSENT);
  }

  /** Whether a shallow volume has its reference. */
  boolean holds(String volume) {
    return state(volume) == ReferenceState.NORMAL;
  }

  /** Removes what is left in the tracker of a snapshot that is gone. */
  void forget(String volume) {
    if (tracker.remove(id, volume) == Removal.REMAINING) {
      tracker.mask(id, id);
    }
  }

  /** Takes back what came too late: the snapshot's own reference went for good, too. */
  private void withdraw(String volume) {
    Removal own = tracker.mask(id, id);
    if (own == Removal.LAST || tracker.remove(id, volume) == Removal.LAST) {
      remove();
    }
  }

  /**
   * Removes the reference of a shallow volume, and the snapshot if it was the last. A snapshot
   * whose tracker is missing is let alone, unless its user deleted it.
   */
  void release(String volume) {
    Removal removal = tracker.remove(id, volume);
    if (removal == Removal.LAST
        || (removal == Removal.MISSING && entry().filter(JournalEntry::isDeleted).isPresent())) {
      remove();
    }
  }

  /** The user deletes the snapshot: its own reference goes, and it too if that was the last. */
  void delete(JournalEntry entry) {
    if (!entry.isDeleted()) {
      files.snapshots().markDeleted(entry.uuid());
    }
    if (tracker.mask(id, id) != Removal.REMAINING) {
      remove(entry);
    }
  }

  private void remove() {
    Optional<JournalEntry> entry = entry();
    if (entry.isPresent()) {
      if (!entry.get().isDeleted()) {
        files.snapshots().markDeleted(entry.get().uuid()); // so that a retry goes on
      }
      remove(entry.get());
    }
  }

  private void remove(JournalEntry entry) {
    try {
      entry.source().ifPresent(source -> files.admin().removeSnapshot(source, entry.name()));
    } catch (CephException e) {
      if (e.errno() == Errno.EAGAIN) {
        throw CephFsVolumes.inUse("snapshot " + id + " is being copied", e);
      }
      throw e;
    }
    files.snapshots().remove(entry);
  }
}
