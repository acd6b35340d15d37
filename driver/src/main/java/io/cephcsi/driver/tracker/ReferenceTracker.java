package io.cephcsi.driver.tracker;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;

/**
 * Counts what refers to the backing snapshots of shallow volumes: for each snapshot one RADOS
 * object, byte for byte that of ceph-csi. The keys are the CSI snapshot id itself, for as long as
 * the snapshot exists for its user, and the subvolume name of each shallow volume.
 *
 * <p>As a rule each call is one round trip: the last known state of a tracker is cached (the count,
 * whether the snapshot itself has a reference, and for a tracker of few keys all of them), and each
 * write asserts the version of that state. The tracker is read only if another process has written
 * meanwhile. Calls of several threads on one tracker share a write.
 *
 * <p>Every call is idempotent, and safe for several threads and processes. Calls block on the
 * cluster, for as long as its operations may take. A call that throws anything but {@link
 * TrackerFormatException} or ABORTED may have been carried out: the caller calls again.
 */
public final class ReferenceTracker {
  private static final int MAX_TRACKERS = 10_000;
  private static final Duration KEEP_UNUSED = Duration.ofMinutes(10);
  private static final long FIRST_PAUSE_NANOS = Duration.ofMillis(1).toNanos();
  private static final int MAX_PAUSE_DOUBLINGS = 6;

  private final TrackerStore store;
  private final IntConsumer pause;
  private final Cache<String, TrackerQueue> lanes =
      Caffeine.newBuilder()
          .maximumSize(MAX_TRACKERS)
          .expireAfterAccess(KEEP_UNUSED)
          .executor(Runnable::run) // another thread would have to wake up for it, all 16 changes
          .build();

  /**
   * @param store of one file system
   */
  public ReferenceTracker(TrackerStore store) {
    this(store, ReferenceTracker::pause);
  }

  ReferenceTracker(TrackerStore store, IntConsumer pause) {
    this.store = store;
    this.pause = pause;
  }

  /** Exponential, at most 64 ms, with full jitter: the more compete, the further apart. */
  private static void pause(int failures) {
    long longest = FIRST_PAUSE_NANOS << Math.min(failures, MAX_PAUSE_DOUBLINGS);
    LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(longest));
  }

  /**
   * Adds those of the keys that are absent; makes the tracker when there is none. A key that is
   * there, masked ones too, stays as it is.
   *
   * @param snapshotId the CSI snapshot id
   * @param keys at least one
   * @return what was added, which an undo of the caller may remove, and what is masked
   * @throws TrackerFormatException when the tracker is of another version or damaged
   * @throws io.cephcsi.driver.volume.VolumeException ABORTED when too many processes write at once
   */
  public AddResult add(String snapshotId, Collection<String> keys) {
    Set<String> added = Set.copyOf(keys);
    if (added.isEmpty()) {
      throw new IllegalArgumentException("no reference to add to " + snapshotId);
    }
    added.forEach(ReferenceTracker::requireKey);
    return lane(snapshotId).apply(new TrackerChange.Add(added));
  }

  /**
   * Removes a key, a masked one too. An absent key is no error.
   *
   * @param snapshotId the CSI snapshot id
   * @throws TrackerFormatException when the tracker is of another version or damaged
   * @throws io.cephcsi.driver.volume.VolumeException ABORTED when too many processes write at once
   */
  public RemoveResult remove(String snapshotId, String key) {
    return remove(snapshotId, key, () -> {});
  }

  /**
   * As {@link #remove(String, String)}, for who has to remember what the masked reference said: it
   * goes with the tracker.
   *
   * @param beforeLast what to do before the write that comes to {@link RemoveResult#LAST}; more
   *     than once when others write meanwhile, who may then keep the snapshot. What it throws is
   *     thrown, and nothing is changed then
   */
  public RemoveResult remove(String snapshotId, String key, Runnable beforeLast) {
    requireKey(key);
    return lane(snapshotId)
        .apply(new TrackerChange.Remove(snapshotId, key, ReferenceState.ABSENT, beforeLast));
  }

  /**
   * Masks a key, an absent one too: it does not count any more and cannot be added again.
   *
   * @param snapshotId the CSI snapshot id
   * @throws TrackerFormatException when the tracker is of another version or damaged
   * @throws io.cephcsi.driver.volume.VolumeException ABORTED when too many processes write at once
   */
  public RemoveResult mask(String snapshotId, String key) {
    requireKey(key);
    return lane(snapshotId)
        .apply(new TrackerChange.Remove(snapshotId, key, ReferenceState.MASK, () -> {}));
  }

  /**
   * Reads a tracker with all its references, as of one moment.
   *
   * @param snapshotId the CSI snapshot id
   * @return empty when there is none
   * @throws TrackerFormatException when the tracker is of another version or damaged
   */
  public Optional<TrackerState> read(String snapshotId) {
    return store.readAll(TrackerCodec.name(snapshotId));
  }

  /**
   * Reads a tracker with some of its references, as of one moment; one round trip.
   *
   * @param snapshotId the CSI snapshot id
   * @param keys the references
   * @return empty when there is none
   * @throws TrackerFormatException when the tracker is of another version or damaged
   */
  public Optional<TrackerState> read(String snapshotId, Collection<String> keys) {
    return store.read(TrackerCodec.name(snapshotId), keys);
  }

  /** The ids of all snapshots that have a tracker, sorted; reads the names of all objects. */
  public List<String> snapshotIds() {
    return store.names(TrackerCodec.NAME_PREFIX).stream()
        .map(name -> name.substring(TrackerCodec.NAME_PREFIX.length()))
        .toList();
  }

  private TrackerQueue lane(String snapshotId) {
    requireKey(snapshotId);
    return lanes.get(snapshotId, id -> new TrackerQueue(store, id, pause));
  }

  private static void requireKey(String key) {
    if (key.isEmpty() || key.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("\"" + key + "\" cannot be a reference key");
    }
  }
}
