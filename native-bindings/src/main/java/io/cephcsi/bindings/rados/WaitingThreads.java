package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.internal.TaskWait;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The threads of a connection that are in calls of librados without a timeout, such as commands to
 * the manager: one that has no answer cannot be ended. They end when they have been idle for a
 * while. Safe for several threads.
 */
final class WaitingThreads {
  static final int MOST = 128;
  private static final long IDLE_SECONDS = 30;

  private final ThreadPoolExecutor threads;

  /**
   * @param name of each thread
   */
  WaitingThreads(String name) {
    threads =
        new ThreadPoolExecutor(
            0,
            MOST,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            task -> daemon(task, name));
  }

  private static Thread daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Waits for a call that is made on one of the threads; see {@link TaskWait}.
   *
   * @return empty if it had no answer in time, or all threads wait already and it was not made
   * @throws RuntimeException what the call threw
   */
  <T> Optional<T> call(Supplier<T> call, Duration patience) {
    FutureTask<T> task = new FutureTask<>(call::get);
    try {
      threads.execute(task);
    } catch (RejectedExecutionException e) {
      return Optional.empty();
    }
    return TaskWait.result(task, patience, "a call of librados failed");
  }

  /** How many calls have no answer yet. */
  int busy() {
    return threads.getActiveCount();
  }
}
