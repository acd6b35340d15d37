package io.cephcsi.driver.fsck;

import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.tracker.ReferenceState;
import io.cephcsi.driver.tracker.ReferenceTracker;
import io.cephcsi.driver.tracker.TrackerFormatException;
import io.cephcsi.driver.tracker.TrackerState;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Predicate;

/**
 * Compares reference trackers with the journal and the snapshots of the file system. It only reads.
 * Concurrent calls can show as problems: check again before you act.
 */
public final class TrackerCheck {
  private static final int UUID_LENGTH = 36;

  private final ReferenceTracker trackers;
  private final Journal snapshots;
  private final Predicate<JournalEntry> named;
  private final Journal volumes;
  private final BackingSnapshots backing;

  /**
   * @param trackers of the file system
   * @param snapshots the journal of its snapshots
   * @param named whether a name leads to the entry of a snapshot: those of an instance, or of all
   * @param volumes the journal of its volumes
   * @param backing its snapshots
   */
  public TrackerCheck(
      ReferenceTracker trackers,
      Journal snapshots,
      Predicate<JournalEntry> named,
      Journal volumes,
      BackingSnapshots backing) {
    this.trackers = trackers;
    this.snapshots = snapshots;
    this.named = named;
    this.volumes = volumes;
    this.backing = backing;
  }

  /** The ids of all snapshots that have a tracker or that a shallow volume shows, sorted. */
  public Set<String> snapshotIds(Collection<ShallowVolume> shallow) {
    Set<String> ids = new TreeSet<>(trackers.snapshotIds());
    shallow.forEach(volume -> ids.add(volume.backingSnapshot()));
    return ids;
  }

  /**
   * Checks the tracker of one snapshot; a few round trips and one for each reference.
   *
   * @param shallow all shallow volumes of the file system
   */
  public TrackerReport check(String snapshotId, Collection<ShallowVolume> shallow) {
    List<String> problems = new ArrayList<>();
    List<String> shown =
        shallow.stream()
            .filter(volume -> volume.backingSnapshot().equals(snapshotId))
            .map(ShallowVolume::name)
            .sorted()
            .toList();
    Optional<TrackerState> tracker = Optional.empty();
    try {
      tracker = trackers.read(snapshotId);
      tracker.ifPresentOrElse(
          state -> compare(snapshotId, state, shown, problems),
          () ->
              shown.forEach(
                  name ->
                      problems.add(
                          "there is no tracker, but volume " + name + " shows the snapshot")));
    } catch (TrackerFormatException e) {
      problems.add(String.valueOf(e.getMessage()));
    }
    return new TrackerReport(snapshotId, tracker, problems);
  }

  private void compare(
      String snapshotId, TrackerState tracker, List<String> shown, List<String> problems) {
    if (tracker.count() != tracker.normalReferences()) {
      problems.add(
          "it counts " + tracker.count() + " references and has " + tracker.normalReferences());
    }
    snapshot(snapshotId, tracker.reference(snapshotId), problems);
    Set<String> missing = new HashSet<>(shown);
    tracker.references().keySet().stream()
        .sorted()
        .filter(key -> !key.equals(snapshotId))
        .filter(key -> tracker.reference(key) == ReferenceState.NORMAL)
        .forEach(
            key -> {
              if (!missing.remove(key)) {
                volume(snapshotId, key).ifPresent(problems::add);
              }
            });
    shown.stream()
        .filter(missing::contains)
        .forEach(
            name -> problems.add("volume " + name + " shows the snapshot and has no reference"));
  }

  private void snapshot(String snapshotId, ReferenceState own, List<String> problems) {
    Optional<JournalEntry> entry =
        VolumeId.parse(snapshotId).flatMap(id -> snapshots.byUuid(id.uuid()));
    if (entry.isEmpty()) {
      problems.add(
          own == ReferenceState.NORMAL
              ? "the snapshot's own reference is left, the journal has no such snapshot"
              : "the journal has no such snapshot");
      return;
    }
    if (!backing.exists(entry.get())) {
      problems.add("the file system has no snapshot " + entry.get().name());
    }
    if (own == ReferenceState.ABSENT && named.test(entry.get())) {
      problems.add("the snapshot " + entry.get().requestName() + " exists and has no reference");
    }
  }

  /** What is wrong with a reference that no shallow volume of the directory accounts for. */
  private Optional<String> volume(String snapshotId, String key) {
    Optional<JournalEntry> entry = uuid(key).flatMap(volumes::byUuid);
    if (entry.isEmpty() || !entry.get().name().equals(key)) {
      return Optional.of("reference " + key + " is of no volume");
    }
    return ShallowVolume.of(entry.get())
            .filter(volume -> volume.backingSnapshot().equals(snapshotId))
            .isPresent()
        ? Optional.empty()
        : Optional.of("reference " + key + " is of a volume that does not show this snapshot");
  }

  /** The uuid that a subvolume's name ends with, whatever its prefix. */
  private static Optional<UUID> uuid(String name) {
    if (name.length() < UUID_LENGTH) {
      return Optional.empty();
    }
    String end = name.substring(name.length() - UUID_LENGTH);
    try {
      return Optional.of(UUID.fromString(end)).filter(uuid -> uuid.toString().equals(end));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }
}
