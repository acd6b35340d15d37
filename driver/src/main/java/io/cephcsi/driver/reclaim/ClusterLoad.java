package io.cephcsi.driver.reclaim;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.cluster.DaemonThreads;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.Json;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pauses a reclaim while the cluster reports a health check that is more urgent: before it begins
 * and between any two steps, for a bounded time in all. A thread of its own asks for the cluster's
 * health, so that the work never waits for the answer.
 */
final class ClusterLoad implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ClusterLoad.class);

  /**
   * Health checks that say so: slow operations, and data that is being recovered. Full OSDs are
   * none: reclaim is what helps them.
   */
  private static final List<String> URGENT =
      List.of("SLOW_OPS", "PG_DEGRADED", "PG_AVAILABILITY", "OBJECT_MISPLACED");

  private static final Duration SLICE = Duration.ofMillis(20); // another client waits as long

  private final RadosCluster cluster;
  private final Operation operation;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Limits limits;
  private volatile Optional<String> urgent;
  private long heldNanos;
  private boolean warned;

  private ClusterLoad(RadosCluster cluster, Operation operation, Limits limits) {
    this.cluster = cluster;
    this.operation = operation;
    this.limits = limits;
    this.urgent = ask();
  }

  /**
   * Begins to watch the cluster, with one question to a monitor; closed when the reclaim ends.
   *
   * @param cluster stays open for as long as this
   * @param operation shows what it waits for
   */
  static ClusterLoad watch(RadosCluster cluster, Operation operation, Limits limits) {
    ClusterLoad load = new ClusterLoad(cluster, operation, limits);
    DaemonThreads.of("reclaim-load", load::poll).start();
    return load;
  }

  private void poll() {
    try {
      while (!ended.await(limits.poll().toMillis(), TimeUnit.MILLISECONDS)) {
        urgent = ask();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IllegalStateException e) {
      LOG.debug("the connection was closed first: {}", e.getMessage());
    }
  }

  /**
   * Waits while the cluster is busy with itself, or until it is time to stop. Used by one thread at
   * a time.
   *
   * @return for how long, in nanoseconds
   */
  long hold(BooleanSupplier stop) {
    Optional<String> why = urgent;
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
      why = urgent;
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

  private Optional<String> ask() {
    try {
      return urgent(CephCommand.of("health", Map.of()).toMonitors(cluster).output());
    } catch (CephException e) {
      LOG.debug("the cluster does not tell its health: {}", e.getMessage());
      return Optional.empty();
    }
  }

  /** The first check in the answer of {@code health} that reclaim must wait for. */
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
