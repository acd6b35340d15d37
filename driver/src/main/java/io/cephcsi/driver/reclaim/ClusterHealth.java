package io.cephcsi.driver.reclaim;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.cluster.DaemonThreads;
import io.cephcsi.driver.volume.Json;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The health checks of a cluster that reclaims wait for. A thread of its own asks for them, so that
 * no reclaim waits for the answer. Safe for several threads.
 */
final class ClusterHealth implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ClusterHealth.class);

  /**
   * Slow operations, and data that is being recovered. Full OSDs are none: reclaim is what helps
   * them.
   */
  private static final List<String> URGENT =
      List.of("SLOW_OPS", "PG_DEGRADED", "PG_AVAILABILITY", "OBJECT_MISPLACED");

  private final RadosCluster cluster;
  private final CountDownLatch ended = new CountDownLatch(1);
  private volatile Optional<String> urgent;

  private ClusterHealth(RadosCluster cluster) {
    this.cluster = cluster;
    this.urgent = ask();
  }

  /**
   * Begins to watch the cluster, with one question to a monitor, for which it blocks.
   *
   * @param cluster stays open for as long as this
   * @param poll how often the cluster is asked
   */
  static ClusterHealth watch(RadosCluster cluster, Duration poll) {
    ClusterHealth health = new ClusterHealth(cluster);
    DaemonThreads.of("reclaim-load", () -> health.poll(poll)).start();
    return health;
  }

  private void poll(Duration poll) {
    try {
      while (!ended.await(poll.toMillis(), TimeUnit.MILLISECONDS)) {
        urgent = ask();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IllegalStateException e) {
      LOG.debug("the connection was closed first: {}", e.getMessage());
    }
  }

  /** The check that reclaims wait for, by the newest answer; empty if there is none. */
  Optional<String> urgent() {
    return urgent;
  }

  private Optional<String> ask() {
    try {
      return urgent(CephCommand.of("health", Map.of()).toMonitors(cluster).output());
    } catch (CephException e) {
      LOG.debug("the cluster does not tell its health: {}", e.getMessage());
      return Optional.empty();
    }
  }

  /** The first check in the answer of {@code health} that reclaims must wait for. */
  static Optional<String> urgent(byte[] health) {
    try {
      JsonNode checks = Json.mapper().readTree(health).path("checks");
      return URGENT.stream()
          .filter(name -> checks.has(name) && !checks.get(name).path("muted").asBoolean(false))
          .findFirst();
    } catch (JacksonException e) {
      LOG.warn("the answer to health is not JSON: {}", e.getOriginalMessage());
      return Optional.empty();
    } catch (IOException e) {
      throw new IllegalStateException(e); // there is nothing to read from
    }
  }

  /** Ends watching; does not wait for an answer that is under way. */
  @Override
  public void close() {
    ended.countDown();
  }
}
