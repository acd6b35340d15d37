package io.cephcsi.driver.tracker;

import static io.cephcsi.driver.tracker.ReferenceState.ABSENT;
import static io.cephcsi.driver.tracker.ReferenceState.MASK;
import static io.cephcsi.driver.tracker.ReferenceState.NORMAL;

import java.util.HashSet;
import java.util.Set;

/**
 * A change of a tracker.
 *
 * @param <R> what it came to
 */
sealed interface TrackerChange<R> {
  /** The keys that it concerns. */
  Set<String> keys();

  /** Changes the model. */
  R apply(TrackerModel model);

  /** Whether it would take the last reference from the tracker. */
  boolean empties(TrackerModel model);

  /** What it does, as a word. */
  String kind();

  /** What it came to, as a word. */
  String described(R result);

  /** Adds those of the keys that are absent. */
  record Add(Set<String> keys) implements TrackerChange<AddResult> {
    @Override
    public AddResult apply(TrackerModel model) {
      Set<String> added = new HashSet<>();
      Set<String> masked = new HashSet<>();
      for (String key : keys) {
        switch (model.state(key, ABSENT)) {
          case ABSENT -> {
            model.set(key, ABSENT, NORMAL);
            added.add(key);
          }
          case MASK -> masked.add(key);
          case NORMAL -> {} // as it shall be
        }
      }
      return new AddResult(added, masked);
    }

    @Override
    public boolean empties(TrackerModel model) {
      return false;
    }

    @Override
    public String kind() {
      return "ADD";
    }

    @Override
    public String described(AddResult result) {
      return !result.masked().isEmpty() ? "MASKED" : result.added().isEmpty() ? "THERE" : "ADDED";
    }
  }

  /**
   * Takes a reference away.
   *
   * @param ownKey the snapshot's own reference
   * @param to what remains of the key: ABSENT or MASK
   * @param beforeLast what to do before the write that comes to LAST
   */
  record Remove(String ownKey, String key, ReferenceState to, Runnable beforeLast)
      implements TrackerChange<RemoveResult> {
    @Override
    public Set<String> keys() {
      return Set.of(key);
    }

    @Override
    public RemoveResult apply(TrackerModel model) {
      if (!model.exists()) {
        return RemoveResult.MISSING;
      }
      ReferenceState from = model.state(key, NORMAL);
      if (from != to) {
        model.set(key, from, to);
      }
      if (model.exists()) {
        return RemoveResult.REMAINING;
      }
      // All keys are known here: the last reference is only taken of a tracker that was read whole.
      if (model.state(ownKey, ABSENT) != MASK) {
        return RemoveResult.LAST_UNMASKED;
      }
      beforeLast.run();
      return RemoveResult.LAST;
    }

    @Override
    public boolean empties(TrackerModel model) {
      return model.exists() && model.isLast(key);
    }

    @Override
    public String kind() {
      return to == MASK ? "MASK" : "REMOVE";
    }

    @Override
    public String described(RemoveResult result) {
      return result.name();
    }
  }
}
