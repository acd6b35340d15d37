package io.cephcsi.driver.reclaim;

import io.cephcsi.driver.operation.Operation;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pauses a reclaim while the cluster reports a health check that is more urgent: before it begins
 * and between any two steps, for a bounded time in all. Used by one thread at a time.
 */
final class ClusterLoad {
  private static final Logger LOG = LoggerFactory.getLogger(ClusterLoad.class);
  private static final Duration SLICE = Duration.ofMillis(20); // another client waits as long

  private final ClusterHealth health;
  private final Operation operation;
  private final Limits limits;
  private long heldNanos;
  private boolean warned;

  /**
   * @param operation shows what it waits for
   */
  ClusterLoad(ClusterHealth health, Operation operation, Limits limits) {
    this.health = health;
    this.operation = operation;
    this.limits = limits;
  }

  /**
   * Waits while the cluster is busy with itself, or until it is time to stop.
   *
   * @return for how long, in nanoseconds
   */
  long hold(BooleanSupplier stop) {
    Optional<String> why = health.urgent();
    if (why.isEmpty() || heldNanos >= limits.patience().toNanos()) {
      return 0;
    }
    long start = System.nanoTime();
    long end = start + limits.patience().toNanos() - heldNanos;
    String before = operation.phase();
    String shown = "";
    while (why.isPresent() && !stop.getAsBoolean() && System.nanoTime() < end) {
      if (!shown.equals(why.get())) {
        shown = why.get();
        LOG.info("the reclaim of {} waits: the cluster reports {}", operation.key(), shown);
        operation.phase("waiting for the cluster: " + shown);
      }
      LockSupport.parkNanos(SLICE.toNanos());
      why = health.urgent();
    }
    operation.phase(before);
    long waited = System.nanoTime() - start;
    heldNanos += waited;
    if (heldNanos >= limits.patience().toNanos() && !warned) {
      warned = true;
      LOG.warn(
          "the reclaim of {} continues although the cluster reports {}: it has waited"
              + " for {} s",
          operation.key(),
          shown,
          limits.patience().toSeconds());
    }
    return waited;
  }

  /**
   * How patient a reclaim is.
   *
   * @param patience for how long it is held back at most, in all
   * @param poll how often the cluster is asked
   */
  record Limits(Duration patience, Duration poll) {
    /** For daily use. */
    static final Limits USUAL = new Limits(Duration.ofMinutes(5), Duration.ofSeconds(5));
  }
}
