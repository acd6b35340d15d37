package io.cephcsi.driver.tracker;

/** What a tracker says of a reference key. */
public enum ReferenceState {
  /** Not there. */
  ABSENT,
  /** A reference, which counts. */
  NORMAL,
  /** Does not count, and keeps the same key from being added later. */
  MASK
}
