package io.cephcsi.driver.tracker;

import static io.cephcsi.driver.tracker.ReferenceState.ABSENT;
import static io.cephcsi.driver.tracker.ReferenceState.NORMAL;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The state of a tracker while the changes of one write are applied. The state of a key that is not
 * known may be guessed: the write then asserts the guess, and is refused when it is wrong.
 */
final class TrackerModel {
  private final String name;
  private final @Nullable TrackerState before;
  private final boolean guesses;
  private final boolean whole;
  private final Map<String, ReferenceState> guessed = new HashMap<>();
  private final Map<String, ReferenceState> changed = new HashMap<>();
  private long count;

  private TrackerModel(String name, @Nullable TrackerState before, boolean guesses, boolean whole) {
    this.name = name;
    this.before = before;
    this.guesses = guesses;
    this.whole = whole;
    this.count = before == null ? 0 : before.count();
  }

  /**
   * A tracker whose keys were read, as far as the changes concern them.
   *
   * @param state what was read; null: there is none
   * @param whole whether all its keys were
   */
  static TrackerModel read(String name, @Nullable TrackerState state, boolean whole) {
    return new TrackerModel(name, state, false, whole);
  }

  /**
   * A tracker as it probably is.
   *
   * @param memory what was last seen; null: that there is probably none
   */
  static TrackerModel guess(String name, @Nullable CachedTracker memory) {
    return memory == null
        ? new TrackerModel(name, null, true, true)
        : new TrackerModel(name, memory.state(), true, memory.whole());
  }

  /** Whether it is only a guess what there is: without a write, nothing of this is certain. */
  boolean isGuess() {
    return guesses;
  }

  /** Whether there is a tracker. */
  boolean exists() {
    return count > 0;
  }

  /**
   * The state of a key.
   *
   * @param guess what it most likely is
   */
  ReferenceState state(String key, ReferenceState guess) {
    ReferenceState known = changed.get(key);
    if (known != null) {
      return known;
    }
    if (before == null) {
      return ABSENT;
    }
    known = before.references().get(key);
    if (known != null) {
      return known;
    }
    return guesses && !whole ? guessed.computeIfAbsent(key, any -> guess) : ABSENT;
  }

  /** Whether a key is the only reference that counts. */
  boolean isLast(String key) {
    return count == 1 && state(key, NORMAL) == NORMAL;
  }

  /** Changes a key, and the count with it. */
  void set(String key, ReferenceState from, ReferenceState to) {
    count += (to == NORMAL ? 1 : 0) - (from == NORMAL ? 1 : 0);
    changed.put(key, to);
    if (count < 0) {
      throw new TrackerFormatException(name, "it has more references than it counts");
    }
    if (count > TrackerCodec.MAX_COUNT) {
      throw new TrackerFormatException(name, "it cannot count more references");
    }
  }

  /**
   * The write that makes the tracker so.
   *
   * @param always whether to write, too, when nothing changes
   * @return empty when there is nothing to write
   */
  Optional<TrackerWrite> write(boolean always) {
    if (before == null) {
      return exists() ? Optional.of(new TrackerWrite.Create(count, changed)) : Optional.empty();
    }
    if (!exists()) {
      return Optional.of(new TrackerWrite.Remove(before.version(), guessed));
    }
    return changed.isEmpty() && !always
        ? Optional.empty()
        : Optional.of(new TrackerWrite.Update(before.version(), guessed, count, changed));
  }

  /** The version that was read; 0 when there was no tracker. */
  long readVersion() {
    return before == null ? 0 : before.version();
  }

  /**
   * What to remember after the write: what was known, and what it proved and changed.
   *
   * @param ownKey the key that is always remembered
   * @return null when there is no tracker
   */
  @Nullable CachedTracker after(long version, String ownKey) {
    if (!exists()) {
      return null;
    }
    Map<String, ReferenceState> known = new HashMap<>();
    known.put(ownKey, state(ownKey, ABSENT));
    boolean all = whole;
    if (before != null && before.references().size() <= CachedTracker.MOST_KEYS) {
      known.putAll(before.references());
    } else if (before != null) {
      all = false;
    }
    known.putAll(guessed);
    known.putAll(changed);
    if (all) {
      known.values().removeIf(ABSENT::equals);
    }
    if (known.size() > CachedTracker.MOST_KEYS) {
      known = Map.of(ownKey, state(ownKey, ABSENT));
      all = false;
    }
    return new CachedTracker(new TrackerState(version, count, known), all);
  }
}
