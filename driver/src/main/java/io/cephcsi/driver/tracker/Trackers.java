package io.cephcsi.driver.tracker;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.bindings.rados.IoContext;
import java.time.Duration;

/**
 * The reference trackers of all file systems, so that calls share what is remembered of them. Safe
 * for several threads; does not block.
 */
public final class Trackers {
  private static final int MAX_POOLS = 64;
  private static final Duration KEEP_UNUSED = Duration.ofMinutes(10);

  private final Cache<IoContext, ReferenceTracker> trackers =
      Caffeine.newBuilder().maximumSize(MAX_POOLS).expireAfterAccess(KEEP_UNUSED).build();

  /**
   * The trackers of a file system.
   *
   * @param io its metadata pool in the namespace of CephFS, as a lease gives it: the same object
   *     for as long as the connection lasts
   */
  public ReferenceTracker in(IoContext io) {
    return trackers.get(io, pool -> new ReferenceTracker(new RadosTrackerStore(pool)));
  }
}
