package io.cephcsi.driver.metrics;

import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Metrics whose address cannot be listened on yet, as when another process has the port: tried
 * again until it can, or until this is closed. Volumes do not wait for that. Thread-safe.
 */
final class LateMetrics implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LateMetrics.class);

  private final MetricsEndpoint endpoint;
  private final PrometheusRegistry registry;
  private final Duration pause;
  private final Thread thread = new Thread(this::run, "metrics-retry");
  private @Nullable MetricsServer server;
  private boolean closed;

  private LateMetrics(MetricsEndpoint endpoint, PrometheusRegistry registry, Duration pause) {
    this.endpoint = endpoint;
    this.registry = registry;
    this.pause = pause;
  }

  /**
   * Serves a registry at once, or as soon as the address can be listened on; it does not block.
   *
   * @param pause from one attempt to the next
   */
  static AutoCloseable start(
      MetricsEndpoint endpoint, PrometheusRegistry registry, Duration pause) {
    try {
      return endpoint.serve(registry);
    } catch (IOException e) {
      LOG.warn(
          "{}; the driver goes on without, and tries again every {} s",
          e.getMessage(),
          pause.toSeconds());
    }
    LateMetrics late = new LateMetrics(endpoint, registry, pause);
    late.thread.setDaemon(true);
    late.thread.start();
    return late;
  }

  private void run() {
    try {
      do {
        Thread.sleep(pause.toMillis());
      } while (!isDone());
    } catch (InterruptedException e) {
      // close was called
    } catch (RuntimeException e) {
      LOG.error("serving metrics failed: restart the driver to serve them", e);
    }
  }

  private synchronized boolean isDone() {
    if (closed) {
      return true;
    }
    try {
      server = endpoint.serve(registry);
      LOG.info("metrics are served now, on port {}", endpoint.port());
      return true;
    } catch (IOException e) {
      LOG.debug("still: {}", e.getMessage());
      return false;
    }
  }

  /** Ends the attempts, and the server if there is one. */
  @Override
  public synchronized void close() {
    closed = true;
    thread.interrupt();
    if (server != null) {
      server.close();
    }
  }
}
