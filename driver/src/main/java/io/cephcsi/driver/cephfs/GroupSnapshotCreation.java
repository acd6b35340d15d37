package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes a reserved snapshot of several subvolumes: quiesces them as one set, takes the snapshot of
 * each, releases the set, and records that; only then they count. What an earlier attempt left is
 * removed, as its snapshots may be of several points in time.
 *
 * <p>The set's id is that of the attempt, so that another driver sees whether the attempt still
 * runs: while the set is active no other attempt begins; when it is not, the attempt cannot succeed
 * any more. For one call.
 *
 * @param files the file system
 * @param trackers of all file systems
 * @param entry of the group's snapshot
 * @param namePrefix begins the names on the cluster
 */
record GroupSnapshotCreation(
    OpenFileSystem files, Trackers trackers, GroupEntry entry, String namePrefix) {
  private static final Logger LOG = LoggerFactory.getLogger(GroupSnapshotCreation.class);
  private static final Duration WITHIN = Duration.ofSeconds(20);
  private static final Duration EXPIRES = Duration.ofSeconds(30);

  private SnapshotAttempts attempts() {
    return new SnapshotAttempts(files.metadata(), entry.journal().uuid());
  }

  private VolumeId id() {
    return files.id(entry.journal().uuid());
  }

  /**
   * Whether it was taken; one round trip. ceph-csi records no attempts: what has snapshots without
   * one is of its making, and to be given as it is, or deleted.
   */
  boolean isDone() {
    return attempts()
        .read()
        .filter(state -> !state.isEnding())
        .filter(state -> state.taken() || (state.attempt().isEmpty() && entry.isOfSnapshots()))
        .isPresent();
  }

  /**
   * Begins an attempt in place of the one before, of which nothing counts any more unless it was
   * done.
   *
   * @param mine its id
   * @param also whether one that was done is superseded, too, to be deleted
   * @throws VolumeException ABORTED if the one before is being carried out, or has just been done,
   *     or if the entry was being removed
   */
  void supersede(String mine, boolean also) {
    SnapshotAttempts.State before = attempts().read().orElseThrow(this::atWork);
    if (before.isEnding()) {
      removeEntry(before.attempt());
      throw atWork();
    }
    boolean active =
        !before.attempt().isEmpty()
            && files.quiesce(before.attempt()).state().filter(Quiesce.State::isActive).isPresent();
    if (active || (before.taken() && !also) || !attempts().begin(before, mine)) {
      throw atWork();
    }
  }

  /**
   * Removes an entry that is marked so, the name first: while the object exists, with the mark, no
   * call that finds the name uses it, so no other call has it.
   */
  private void removeEntry(String mark) {
    files.groups().freeName(entry.journal());
    if (!attempts().remove(mark)) {
      LOG.debug("another driver has removed the entry of group snapshot {}", id());
    }
  }

  private VolumeException atWork() {
    return new VolumeException(
        Reason.ABORTED,
        "another driver works on group snapshot "
            + id()
            + ", or ended during its work less than a minute ago; try again");
  }

  /**
   * Takes it.
   *
   * @param isNew whether no other attempt can have begun before
   */
  void carryOut(List<OpenVolume> sources, boolean isNew) {
    String attempt = UUID.randomUUID().toString();
    supersede(attempt, false);
    removeEarlier();
    // As long as they are not recorded, an attempt that supersedes this one may take them over.
    List<JournalEntry> parts = sources.stream().map(this::reserve).toList();
    recordParts(sources, parts, attempt);
    try {
      giveKeys(sources, parts);
      take(sources, parts, attempt);
      giveKeys(sources, parts); // a first staging may have made one meanwhile
      if (!attempts().complete(attempt)) {
        throw atWork();
      }
    } catch (CephException.OutcomeUnknown e) {
      throw e; // the outcome is unknown: the repeated call starts again
    } catch (CephException | VolumeException e) {
      withdraw(parts, attempt, isNew);
      throw translated(e);
    }
  }

  /**
   * Removes what there is of one that was not taken, and never can be, as a volume is gone.
   *
   * @param sources the volumes
   * @throws VolumeException ABORTED if another driver takes it, or has just taken it
   */
  void abandon(Collection<VolumeId> sources) {
    String attempt = UUID.randomUUID().toString();
    supersede(attempt, false);
    removeEarlier();
    for (VolumeId source : sources) { // an interrupted attempt may not have recorded them
      files
          .snapshots()
          .byName(partName(source))
          .filter(part -> part.groupId().equals(Optional.of(id().toString())))
          .ifPresent(this::remove);
    }
    attempts().end(attempt).ifPresent(this::removeEntry);
  }

  private String partName(VolumeId source) {
    return entry.journal().requestName() + "-" + source.uuid();
  }

  /**
   * Removes what an attempt before recorded, which cannot be counted any more. It may have counted
   * once, and be shown by shallow volumes since: then it stays for them.
   */
  private void removeEarlier() {
    for (VolumeId part :
        files
            .groups()
            .byUuid(entry.journal().uuid())
            .map(GroupEntry::snapshots)
            .orElse(List.of())) {
      files.snapshots().byUuid(part.uuid()).ifPresent(this::remove);
    }
  }

  private void remove(JournalEntry part) {
    BackingSnapshot.of(files, trackers, files.id(part.uuid()).toString()).delete(part);
  }

  private RuntimeException translated(RuntimeException e) {
    if (e instanceof CephException.NotFound) {
      return new VolumeException(
          Reason.NOT_FOUND, "a volume of group snapshot " + id() + " is gone", e);
    }
    return e instanceof CephException failure && failure.errno() == Errno.EAGAIN
        ? CephFsVolumes.notYet("a volume of group snapshot " + id(), failure)
        : e;
  }

  private JournalEntry reserve(OpenVolume source) {
    String group = id().toString();
    String name = partName(source.id());
    SnapshotKey key = new SnapshotKey(source);
    Map<String, String> attributes = key.attributes();
    attributes.put(JournalEntry.GROUP_ID, group);
    JournalEntry part =
        CephFsSnapshots.reserve(files, trackers, name, attributes, namePrefix).entry();
    if (!part.groupId().equals(Optional.of(group))) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS, "the name " + name + " is used by another snapshot");
    }
    EncryptionRequest.requireOfVolume(part, source.entry());
    return part;
  }

  private static void giveKeys(List<OpenVolume> sources, List<JournalEntry> parts) {
    for (int i = 0; i < parts.size(); i++) {
      if (!new SnapshotKey(sources.get(i)).give(parts.get(i))) {
        LOG.debug("volume {} has no secret of its files yet", sources.get(i).id());
      }
    }
  }

  private void recordParts(List<OpenVolume> sources, List<JournalEntry> parts, String attempt) {
    Map<VolumeId, String> values = new HashMap<>();
    for (int i = 0; i < parts.size(); i++) {
      values.put(sources.get(i).id(), files.id(parts.get(i).uuid()).toString());
    }
    if (!attempts().record(attempt, values)) {
      throw atWork();
    }
  }

  private void take(List<OpenVolume> sources, List<JournalEntry> parts, String attempt) {
    Quiesce quiesce = files.quiesce(attempt);
    quiesce.begin(
        sources.stream().map(OpenVolume::name).toList(), WITHIN, EXPIRES.plusSeconds(parts.size()));
    boolean released = false;
    try {
      if (!attempts().isLast(attempt)) {
        throw atWork();
      }
      for (JournalEntry part : parts) {
        files.admin().createSnapshot(part.source().orElseThrow(), part.name());
      }
      quiesce.release();
      released = true;
    } finally {
      if (!released) {
        quiesce.cancel();
      }
    }
  }

  /**
   * Undoes what this attempt did; a failure is logged. One that superseded it has other snapshots.
   */
  private void withdraw(List<JournalEntry> parts, String attempt, boolean isNew) {
    try {
      parts.forEach(this::remove);
      if (isNew) {
        attempts().end(attempt).ifPresent(this::removeEntry);
      }
    } catch (CephException | VolumeException e) {
      LOG.warn(
          "the failed group snapshot {} could not be removed; the repeated call or"
              + " DeleteVolumeGroupSnapshot removes it: {}",
          id(),
          e.toString());
    }
  }
}
