package io.cephcsi.driver.operation;

import io.cephcsi.driver.cluster.DaemonThreads;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs the calls that take long, each once in an interval, until it is closed; also those whose
 * caller has gone. One thread looks through all.
 */
public final class SlowCalls implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SlowCalls.class);
  private static final long SHORTEST_PERIOD_MILLIS = 100;
  private static final long LONGEST_PERIOD_MILLIS = 1000;

  private final Duration interval;
  private final List<OperationRegistry> registries;
  private final ScheduledExecutorService timer =
      Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("slow-calls"));

  private SlowCalls(Duration interval, List<OperationRegistry> registries) {
    this.interval = interval;
    this.registries = List.copyOf(registries);
  }

  /**
   * Begins to look at the calls of some registries.
   *
   * @param interval after how long a call is logged, and then again; longer than 0
   */
  @SuppressWarnings("FutureReturnValueIgnored") // it runs until the timer is closed
  public static SlowCalls log(Duration interval, List<OperationRegistry> registries) {
    SlowCalls calls = new SlowCalls(interval, registries);
    long period =
        Math.max(SHORTEST_PERIOD_MILLIS, Math.min(LONGEST_PERIOD_MILLIS, interval.toMillis() / 10));
    calls.timer.scheduleWithFixedDelay(calls::log, period, period, TimeUnit.MILLISECONDS);
    return calls;
  }

  private void log() {
    for (OperationRegistry registry : registries) {
      for (Operation operation : registry.due(interval)) {
        if (operation.isLong()) {
          LOG.info("{}", operation.describe());
        } else {
          LOG.warn("slow call: {}", operation.describe());
        }
      }
    }
  }

  @Override
  public void close() {
    timer.shutdownNow();
  }
}
