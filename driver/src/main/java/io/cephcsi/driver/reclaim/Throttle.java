package io.cephcsi.driver.reclaim;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Limits work to a rate, and pauses it while the cluster is busy. Used by one thread at a time. */
final class Throttle {
  private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private final long bytesPerSecond;
  private final ClusterLoad load;
  private long startNanos = System.nanoTime();
  private long bytes;

  /**
   * A pace that begins now.
   *
   * @param bytesPerSecond 0 for as fast as it goes
   */
  Throttle(long bytesPerSecond, ClusterLoad load) {
    this.bytesPerSecond = bytesPerSecond;
    this.load = load;
  }

  /** Whether there is a rate to keep. */
  boolean isLimited() {
    return bytesPerSecond > 0;
  }

  /**
   * Counts bytes that were worked on, and waits until they are due and the cluster is calm, or it
   * is time to stop.
   */
  void worked(long more, BooleanSupplier stop) {
    startNanos += load.hold(stop); // what was not done meanwhile is not made up for
    if (!isLimited()) {
      return;
    }
    bytes += more;
    long dueNanos = startNanos + (long) (1e9 * bytes / bytesPerSecond);
    long left = dueNanos - System.nanoTime();
    while (left > 0 && !stop.getAsBoolean()) {
      LockSupport.parkNanos(Math.min(left, SLICE_NANOS));
      left = dueNanos - System.nanoTime();
    }
  }
}
