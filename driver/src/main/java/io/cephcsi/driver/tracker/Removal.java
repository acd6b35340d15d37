package io.cephcsi.driver.tracker;

/** What the removal of a reference came to. */
public enum Removal {
  /** Others still refer to the snapshot: it stays. */
  REMAINING,
  /**
   * It was the last reference, and the tracker is gone with it: the caller deletes the snapshot.
   */
  LAST,
  /**
   * There is no tracker: the snapshot is older than trackers, or the last reference was removed
   * before. By itself no reason to delete the snapshot.
   */
  MISSING
}
