package io.cephcsi.driver.tracker;

/**
 * The state of a tracker after the last write of this process. It may be outdated: a write asserts
 * the version, and is refused then.
 *
 * @param state with the keys that are known
 * @param whole whether those are all keys, so that any other is absent; then a write has no key to
 *     compare, which costs the OSD a tenth of it
 */
record CachedTracker(TrackerState state, boolean whole) {
  /** With more keys, only the snapshot's own reference is remembered: memory must not grow. */
  static final int MOST_KEYS = 16;

  long version() {
    return state.version();
  }
}
