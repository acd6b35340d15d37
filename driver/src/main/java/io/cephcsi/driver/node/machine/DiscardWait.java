package io.cephcsi.driver.node.machine;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Waits for the discards of a block device, by the counters that the kernel shows of it: requests
 * of all kinds that are under way, and those of each kind that have ended.
 *
 * @param counters the text of the device's {@code stat} in sysfs
 * @param nanos the time, which only grows
 */
record DiscardWait(Supplier<String> counters, LongSupplier nanos) {
  private static final int READS_ENDED = 0;
  private static final int WRITES_ENDED = 4;
  private static final int IN_FLIGHT = 8;
  private static final int DISCARDS_ENDED = 11;

  /** Of a cluster that answers: what it has not ended by then are no discards. */
  private static final Duration OTHERS_END = Duration.ofSeconds(1);

  private static final Duration NOTHING_ENDS = Duration.ofSeconds(10);
  private static final Duration LONGEST = Duration.ofMinutes(1);
  private static final long LOOK_NANOS = 5_000_000;

  /**
   * Waits; blocks for {@link #LONGEST} at most.
   *
   * @param stop ends the wait
   */
  void run(BooleanSupplier stop) {
    long begun = nanos.getAsLong();
    long discardEnded = begun;
    long discards = -1;
    long others = -1;
    while (!stop.getAsBoolean()) {
      String[] now = counters.get().strip().split("\\s+", -1);
      if (number(now, IN_FLIGHT) == 0) {
        return;
      }
      long time = nanos.getAsLong();
      long ended = number(now, READS_ENDED) + number(now, WRITES_ENDED);
      if (number(now, DISCARDS_ENDED) != discards) {
        discards = number(now, DISCARDS_ENDED);
        discardEnded = time;
        others = ended;
      }
      Duration patience = ended == others ? NOTHING_ENDS : OTHERS_END;
      if (time - discardEnded >= patience.toNanos() || time - begun >= LONGEST.toNanos()) {
        return;
      }
      LockSupport.parkNanos(LOOK_NANOS);
    }
  }

  private static long number(String[] counters, int index) {
    return Long.parseLong(counters[index]);
  }
}
