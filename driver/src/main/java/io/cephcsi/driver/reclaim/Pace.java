package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.ImageInfo;
import io.cephcsi.bindings.rbd.RbdImage;
import java.util.BitSet;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Holds work on the objects of an image down to a rate, counting those only that are allocated.
 * Used by one thread at a time.
 */
final class Pace {
  private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private final BitSet allocated;
  private final long objectSize;
  private final long bytesPerSecond;
  private final long startNanos = System.nanoTime();
  private int seen;
  private long bytes;

  private Pace(BitSet allocated, long objectSize, long bytesPerSecond) {
    this.allocated = allocated;
    this.objectSize = objectSize;
    this.bytesPerSecond = bytesPerSecond;
  }

  /**
   * A pace for an image.
   *
   * @param bytesPerSecond 0 for as fast as it goes
   */
  static Pace of(RbdImage image, long bytesPerSecond) {
    ImageInfo info = image.info();
    BitSet allocated = new BitSet();
    if (bytesPerSecond > 0) {
      image.diff(
          Optional.empty(),
          0,
          info.size(),
          false,
          true,
          (offset, length, exists) -> {
            if (exists) {
              allocated.set(
                  (int) (offset / info.objectSize()),
                  (int) ((offset + length - 1) / info.objectSize()) + 1);
            }
            return true;
          });
    }
    return new Pace(allocated, info.objectSize(), bytesPerSecond);
  }

  /** Waits until this many objects may be done, or it is time to stop. */
  void await(long objectsDone, BooleanSupplier stop) {
    if (bytesPerSecond == 0) {
      return;
    }
    for (; seen < objectsDone; seen++) {
      bytes += allocated.get(seen) ? objectSize : 0;
    }
    long dueNanos = startNanos + (long) (1e9 * bytes / bytesPerSecond);
    long left = dueNanos - System.nanoTime();
    while (left > 0 && !stop.getAsBoolean()) {
      LockSupport.parkNanos(Math.min(left, SLICE_NANOS));
      left = dueNanos - System.nanoTime();
    }
  }
}
