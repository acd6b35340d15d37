package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.cls.ObjectMap;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.rbd.RbdImage;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Throttles an operation of librbd that reports the number of the object that it has reached: only
 * objects that exist count. Used by one thread at a time.
 */
final class PacedProgress {
  private final Throttle pace;
  private final Optional<ObjectMap> map;
  private final long objectSize;
  private long seen;

  private PacedProgress(Throttle pace, Optional<ObjectMap> map, long objectSize) {
    this.pace = pace;
    this.map = map;
    this.objectSize = objectSize;
  }

  static PacedProgress of(RbdImage image, Throttle pace) {
    Optional<ObjectMap> map =
        pace.isLimited() ? new UsageMeter(image.pool()).objectMap(image.id()) : Optional.empty();
    return new PacedProgress(pace, map, image.info().objectSize());
  }

  /** Waits until this many objects may be done, or it is time to stop. */
  void done(long objects, BooleanSupplier stop) {
    long existing = 0;
    for (; seen < objects; seen++) {
      // Without a map librbd asks every object, too.
      existing += map.isEmpty() || map.get().exists(seen) ? 1 : 0;
    }
    pace.worked(existing * objectSize, stop);
  }
}
