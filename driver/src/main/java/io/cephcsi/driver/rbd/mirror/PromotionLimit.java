package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.error.CephException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shuts the client of a promotion out that does not end in time, which ends it; tries again as long
 * as the monitors do not answer, until the promotion has ended. One that does not wait, but goes
 * back to the last complete copy, gets more time: cut off, it would begin anew each time.
 */
final class PromotionLimit implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PromotionLimit.class);

  /** How many times as long a promotion may take that does not wait. */
  private static final int WORKING = 30;

  private final Object volume;
  private final BooleanSupplier waits;
  private final Runnable shutOut;
  private final Duration pause;
  private final long end;
  private boolean ended;
  private boolean tried;

  /**
   * @param volume for the log
   * @param waits whether the promotion waits for somebody
   * @param shutOut blocklists the client
   * @param longest how long the promotion may take
   * @param pause between two attempts
   */
  PromotionLimit(
      Object volume, BooleanSupplier waits, Runnable shutOut, Duration longest, Duration pause) {
    this.volume = volume;
    this.waits = waits;
    this.shutOut = shutOut;
    this.pause = pause;
    this.end = System.nanoTime() + longest.multipliedBy(WORKING).toNanos();
    attemptAfter(longest);
  }

  private void attemptAfter(Duration time) {
    CompletableFuture.delayedExecutor(time.toMillis(), TimeUnit.MILLISECONDS)
        .execute(this::attempt);
  }

  private synchronized void attempt() {
    if (ended) {
      return;
    }
    try {
      if (System.nanoTime() - end < 0 && !waits.getAsBoolean()) {
        attemptAfter(pause);
        return;
      }
      tried = true;
      shutOut.run();
    } catch (CephException.Denied | IllegalArgumentException e) {
      LOG.error("volume {}: its promotion hangs and cannot be ended", volume, e);
    } catch (CephException e) {
      LOG.warn("volume {}: its promotion hangs; ending it again: {}", volume, e.getMessage());
      attemptAfter(pause);
    }
  }

  /** Whether it has shut the client out, or tried to. */
  synchronized boolean isOver() {
    return tried;
  }

  /** The promotion has ended; waits for an attempt that has begun. */
  @Override
  public synchronized void close() {
    ended = true;
  }
}
