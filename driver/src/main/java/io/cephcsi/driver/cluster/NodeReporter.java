package io.cephcsi.driver.cluster;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reports every minute, in the background, that the node of this process is there. */
public final class NodeReporter implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(NodeReporter.class);
  private static final int PERIOD_SECONDS = 60;
  private static final int LAST_MOMENTS_SECONDS = 1;

  private final ScheduledExecutorService timer =
      Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("node-report"));

  private NodeReporter() {}

  /** Starts reporting a node. */
  @SuppressWarnings("FutureReturnValueIgnored") // it runs until the timer is closed
  public static NodeReporter start(NodeRegistry registry, OwnNode node) {
    NodeReporter reporter = new NodeReporter();
    reporter.timer.scheduleWithFixedDelay(
        () -> report(registry, node), 0, PERIOD_SECONDS, TimeUnit.SECONDS);
    return reporter;
  }

  private static void report(NodeRegistry registry, OwnNode node) {
    try {
      registry.register(node);
    } catch (RuntimeException e) { // such as a configuration that is not readable yet
      LOG.warn("node {} is not registered: {}", node.id(), e.toString());
    }
  }

  /** Reports no more; waits a moment for a report that runs. */
  @Override
  public void close() {
    timer.shutdownNow();
    try {
      if (!timer.awaitTermination(LAST_MOMENTS_SECONDS, TimeUnit.SECONDS)) {
        LOG.info(
            "the last registration of the node is still running, as a cluster does not"
                + " answer");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
