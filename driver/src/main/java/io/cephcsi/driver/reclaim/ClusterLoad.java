package io.cephcsi.driver.reclaim;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.operation.Operation;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Holds reclaim back while the cluster has more urgent work, for a bounded time. */
final class ClusterLoad {
  private static final Logger LOG = LoggerFactory.getLogger(ClusterLoad.class);
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Health checks that say so: slow operations, and data that is being recovered. */
  private static final List<String> URGENT =
      List.of("SLOW_OPS", "PG_DEGRADED", "PG_AVAILABILITY", "OBJECT_MISPLACED", "OSD_FULL");

  private static final Duration POLL = Duration.ofSeconds(5);
  private static final Duration SLICE = Duration.ofMillis(100);

  private final Duration patience;

  /**
   * @param patience for how long reclaim is held back at most
   */
  ClusterLoad(Duration patience) {
    this.patience = patience;
  }

  /** Waits while the cluster is busy with itself; ends early when the operation is cancelled. */
  void awaitCalm(RadosCluster cluster, Operation operation) {
    long end = System.nanoTime() + patience.toNanos();
    Optional<String> urgent = urgent(cluster);
    while (urgent.isPresent() && !operation.isCancelled() && System.nanoTime() < end) {
      operation.phase("waiting for the cluster: " + urgent.get());
      long next = Math.min(end, System.nanoTime() + POLL.toNanos());
      while (System.nanoTime() < next && !operation.isCancelled()) {
        LockSupport.parkNanos(SLICE.toNanos());
      }
      urgent = urgent(cluster);
    }
    if (urgent.isPresent() && !operation.isCancelled()) {
      LOG.warn(
          "the cluster reports {} for {} s; reclaiming all the same",
          urgent.get(),
          TimeUnit.NANOSECONDS.toSeconds(patience.toNanos()));
    }
  }

  private static Optional<String> urgent(RadosCluster cluster) {
    try {
      return urgent(cluster.monCommand("{\"prefix\": \"health\", \"format\": \"json\"}").output());
    } catch (CephException e) {
      LOG.debug("the cluster does not tell its health: {}", e.getMessage());
      return Optional.empty();
    }
  }

  /** The first check in the answer of {@code health} that reclaim must wait for. */
  static Optional<String> urgent(byte[] health) {
    try {
      var checks = JSON.readTree(health).path("checks");
      return URGENT.stream().filter(checks::has).findFirst();
    } catch (JacksonException e) {
      LOG.warn("the answer to health is not JSON: {}", e.getOriginalMessage());
      return Optional.empty();
    } catch (IOException e) {
      throw new IllegalStateException(e); // there is nothing to read from
    }
  }
}
