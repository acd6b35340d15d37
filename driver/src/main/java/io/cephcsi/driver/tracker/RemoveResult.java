package io.cephcsi.driver.tracker;

/** The result of a removal of a reference. */
public enum RemoveResult {
  /** Others still refer to the snapshot: it stays. */
  REMAINING,
  /**
   * It was the last reference, the snapshot's own is masked, as its user deleted it, and the
   * tracker is gone: the caller deletes the snapshot.
   */
  LAST,
  /**
   * It was the last reference, and the tracker is gone with it, but the snapshot's own reference
   * was not masked; it never got there, or another program took it away. By itself no reason to
   * delete the snapshot: its user may still have it.
   */
  LAST_UNMASKED,
  /**
   * There is no tracker: the snapshot is older than trackers, or the last reference was removed
   * before. By itself no reason to delete the snapshot.
   */
  MISSING
}
