package io.cephcsi.driver.node.machine;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what nothing tells of. */
public final class Polling {
  private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private Polling() {}

  /**
   * Waits until something is so.
   *
   * @return whether it is; false when the time is over
   */
  public static boolean until(Duration limit, BooleanSupplier condition) {
    long end = System.nanoTime() + limit.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end >= 0) {
        return false;
      }
      LockSupport.parkNanos(SLICE_NANOS);
    }
    return true;
  }
}
