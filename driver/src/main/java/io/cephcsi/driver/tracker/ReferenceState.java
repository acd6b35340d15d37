package io.cephcsi.driver.tracker;

/** The state of a reference key in a tracker. */
public enum ReferenceState {
  /** Not there. */
  ABSENT,
  /** A reference, which counts. */
  NORMAL,
  /** Does not count, and keeps the same key from being added later. */
  MASK
}
