package io.cephcsi.driver.tracker;

import static io.cephcsi.driver.tracker.ReferenceState.ABSENT;
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

  /** Adds those of the keys that are absent. */
  record Add(Set<String> keys) implements TrackerChange<Addition> {
    @Override
    public Addition apply(TrackerModel model) {
      boolean creates = !model.exists();
      Set<String> added = new HashSet<>();
      for (String key : keys) {
        if (model.state(key, ABSENT) == ABSENT) {
          model.set(key, ABSENT, NORMAL);
          added.add(key);
        }
      }
      return new Addition(creates, added);
    }

    @Override
    public boolean empties(TrackerModel model) {
      return false;
    }
  }

  /**
   * Takes a reference away.
   *
   * @param to what remains of the key: ABSENT or MASK
   */
  record Remove(String key, ReferenceState to) implements TrackerChange<Removal> {
    @Override
    public Set<String> keys() {
      return Set.of(key);
    }

    @Override
    public Removal apply(TrackerModel model) {
      if (!model.exists()) {
        return Removal.MISSING;
      }
      ReferenceState from = model.state(key, NORMAL);
      if (from != to) {
        model.set(key, from, to);
      }
      return model.exists() ? Removal.REMAINING : Removal.LAST;
    }

    @Override
    public boolean empties(TrackerModel model) {
      return model.exists() && model.isLast(key);
    }
  }
}
