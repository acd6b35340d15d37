package io.cephcsi.driver.cephfs;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.tracker.RadosTrackerStore;
import io.cephcsi.driver.tracker.ReferenceTracker;

/**
 * The trackers of each connection's file systems: what they remember of a tracker is of use for the
 * next call. Safe for several threads.
 */
final class Trackers {
  private static final int MAX_FILE_SYSTEMS = 1000;

  private final Cache<IoContext, ReferenceTracker> trackers =
      Caffeine.newBuilder().weakKeys().maximumSize(MAX_FILE_SYSTEMS).build();

  ReferenceTracker of(OpenFileSystem files) {
    return trackers.get(files.metadata(), io -> new ReferenceTracker(new RadosTrackerStore(io)));
  }
}
