package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.rados.IoContext;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The threads of one kind of work in the background: bounded, and apart for each cluster, so that
 * one that hangs holds up no other's. They end when they have been idle for a while; a full queue
 * refuses. Safe for several threads.
 */
public final class ClusterWorkers implements AutoCloseable {
  private final String name;
  private final int threads;
  private final int queue;
  private final Map<String, ThreadPoolExecutor> executors = new HashMap<>();
  private boolean closed;

  /**
   * @param name of the work, for the threads' names
   * @param threads how many of one cluster work at once; 1 keeps the order
   * @param queue how much of one cluster may wait
   */
  public ClusterWorkers(String name, int threads, int queue) {
    this.name = name;
    this.threads = threads;
    this.queue = queue;
  }

  /** The threads of the cluster of a pool: the same whatever connection or name it has. */
  public ExecutorService of(IoContext io) {
    return of(io.cluster().fsid());
  }

  /** As {@link #of(IoContext)}, by the id of the cluster. */
  public synchronized ExecutorService of(String fsid) {
    ThreadPoolExecutor executor =
        executors.computeIfAbsent(
            fsid, missing -> new CallThreads(name + "-" + missing, threads, queue, 0));
    if (closed) {
      executor.shutdown();
    }
    return executor;
  }

  /**
   * Refuses more work, waits for what runs and what was queued, then tells what still runs to end.
   *
   * @param timeout how long to wait for all of them
   */
  public void close(long timeout, TimeUnit unit) {
    long end = System.nanoTime() + unit.toNanos(timeout);
    try {
      for (ThreadPoolExecutor executor : refuseMore()) {
        if (!executor.awaitTermination(end - System.nanoTime(), TimeUnit.NANOSECONDS)) {
          executor.shutdownNow();
        }
      }
    } catch (InterruptedException e) {
      close();
      Thread.currentThread().interrupt();
    }
  }

  private synchronized Iterable<ThreadPoolExecutor> refuseMore() {
    closed = true;
    executors.values().forEach(ThreadPoolExecutor::shutdown);
    return executors.values().stream().toList();
  }

  /** Refuses more work, drops what was queued, and tells what runs to end. */
  @Override
  public void close() {
    refuseMore().forEach(ThreadPoolExecutor::shutdownNow);
  }
}
