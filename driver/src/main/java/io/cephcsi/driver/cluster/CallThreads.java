package io.cephcsi.driver.cluster;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A bounded number of threads, which end when they have been idle for a while, and a bounded queue.
 * While tasks are in a {@link LongStep}, as many threads more work on the others. A full queue
 * refuses. Safe for several threads.
 */
final class CallThreads extends ThreadPoolExecutor {
  /** How many tasks at most have others work in their place. */
  static final int MOST_ASIDE = 48;

  private static final int IDLE_SECONDS = 60;
  private static final ThreadLocal<CallThreads> MINE = new ThreadLocal<>();

  private final int threads;
  private final int mostAside;
  private int aside;

  /**
   * @param name of the threads, which get numbers
   * @param threads how many tasks run at once, besides those in a {@link LongStep}
   * @param queue how many tasks wait
   */
  CallThreads(String name, int threads, int queue) {
    this(name, threads, queue, MOST_ASIDE);
  }

  /**
   * As {@link #CallThreads(String, int, int)}.
   *
   * @param mostAside how many tasks at most have others work in their place; 0 where one thread is
   *     to keep the order
   */
  CallThreads(String name, int threads, int queue, int mostAside) {
    super(
        threads,
        threads,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(queue),
        named(name));
    this.threads = threads;
    this.mostAside = mostAside;
    allowCoreThreadTimeOut(true);
  }

  private static ThreadFactory named(String name) {
    AtomicInteger count = new AtomicInteger();
    return task -> DaemonThreads.of(name + "-" + count.incrementAndGet(), task);
  }

  /** The threads that this one belongs to; null for any other thread. */
  static @Nullable CallThreads mine() {
    return MINE.get();
  }

  @Override
  protected void beforeExecute(Thread thread, Runnable task) {
    MINE.set(this);
    super.beforeExecute(thread, task);
  }

  /**
   * One more thread works from now on.
   *
   * @return whether it does: not when that are as many as are allowed
   */
  synchronized boolean stepAside() {
    if (aside == mostAside) {
      return false;
    }
    aside++;
    setMaximumPoolSize(threads + aside);
    setCorePoolSize(threads + aside);
    return true;
  }

  /** One thread less works from now on; those that have a task end it. */
  synchronized void comeBack() {
    aside--;
    setCorePoolSize(threads + aside);
    setMaximumPoolSize(threads + aside);
  }
}
