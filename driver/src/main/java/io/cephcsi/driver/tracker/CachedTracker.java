package io.cephcsi.driver.tracker;

/**
 * What a process remembers of a tracker after a write: whoever writes asserts the version, so it is
 * true or the write is refused.
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
