package io.cephcsi.driver.tracker;

import java.util.Map;

/** One compound write of a tracker. */
public sealed interface TrackerWrite {
  /**
   * Makes a tracker that is not there.
   *
   * @param count the number of normal references
   * @param references the keys
   */
  record Create(long count, Map<String, ReferenceState> references) implements TrackerWrite {
    /** Copies the references. */
    public Create {
      references = Map.copyOf(references);
    }
  }

  /**
   * Changes a tracker.
   *
   * @param version what was read
   * @param expected keys and what they must be, for those that are not known at this version
   * @param count the new number of normal references
   * @param changes the new states; ABSENT removes a key
   */
  record Update(
      long version,
      Map<String, ReferenceState> expected,
      long count,
      Map<String, ReferenceState> changes)
      implements TrackerWrite {
    /** Copies the maps. */
    public Update {
      expected = Map.copyOf(expected);
      changes = Map.copyOf(changes);
    }
  }

  /**
   * Removes a tracker.
   *
   * @param version what was read
   * @param expected keys and what they must be, for those that are not known at this version
   */
  record Remove(long version, Map<String, ReferenceState> expected) implements TrackerWrite {
    /** Copies the map. */
    public Remove {
      expected = Map.copyOf(expected);
    }
  }
}
