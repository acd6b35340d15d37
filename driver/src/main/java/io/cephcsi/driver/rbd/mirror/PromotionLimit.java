package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.error.CephException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shuts the client of a promotion out that does not end in time, which ends it; tries again as long
 * as the monitors do not answer, until the promotion has ended.
 */
final class PromotionLimit implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PromotionLimit.class);

  private final Object volume;
  private final Runnable shutOut;
  private final Duration pause;
  private volatile boolean ended;

  /**
   * @param volume for the log
   * @param shutOut blocklists the client
   * @param longest how long the promotion may take
   * @param pause between two attempts
   */
  PromotionLimit(Object volume, Runnable shutOut, Duration longest, Duration pause) {
    this.volume = volume;
    this.shutOut = shutOut;
    this.pause = pause;
    attemptAfter(longest);
  }

  private void attemptAfter(Duration time) {
    CompletableFuture.delayedExecutor(time.toMillis(), TimeUnit.MILLISECONDS)
        .execute(this::attempt);
  }

  private void attempt() {
    if (ended) {
      return;
    }
    try {
      shutOut.run();
    } catch (CephException.Denied | IllegalArgumentException e) {
      LOG.error("volume {}: its promotion hangs and cannot be ended", volume, e);
    } catch (CephException e) {
      LOG.warn("volume {}: its promotion hangs; ending it again: {}", volume, e.getMessage());
      attemptAfter(pause);
    }
  }

  /** The promotion has ended. */
  @Override
  public void close() {
    ended = true;
  }
}
