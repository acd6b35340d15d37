package io.cephcsi.driver.cluster;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Work that is done again and again on clusters, on threads of each: one that hangs holds up no
 * other's. One timer only hands it over. Safe for several threads.
 */
final class Renewals {
  private static final int THREADS = 4;
  private static final int QUEUE = 1000;

  private final ScheduledExecutorService timer =
      Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("renewals"));
  private final ClusterWorkers workers = new ClusterWorkers("renew-lock", THREADS, QUEUE);

  /**
   * Has work done until what is returned is closed: never twice at once, and what is late is left
   * out.
   *
   * @param interval between beginnings, and before the first
   * @param fsid the id of the cluster
   */
  Renewal every(Duration interval, String fsid, Runnable work) {
    AtomicBoolean underWay = new AtomicBoolean();
    ScheduledFuture<?> scheduled =
        timer.scheduleAtFixedRate(
            () -> handOver(fsid, underWay, work),
            interval.toMillis(),
            interval.toMillis(),
            TimeUnit.MILLISECONDS);
    return () -> scheduled.cancel(false);
  }

  private void handOver(String fsid, AtomicBoolean underWay, Runnable work) {
    if (!underWay.compareAndSet(false, true)) {
      return;
    }
    try {
      workers
          .of(fsid)
          .execute(
              () -> {
                try {
                  work.run();
                } finally {
                  underWay.set(false);
                }
              });
    } catch (RejectedExecutionException e) { // the next time may succeed
      underWay.set(false);
    }
  }

  /** Work that is done again and again, until it is closed. */
  interface Renewal extends AutoCloseable {
    @Override
    void close();
  }
}
