package io.cephcsi.bindings.rados;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The threads that wait for the answers of a connection's manager: a command that has none cannot
 * be ended. They end when they have been idle for a while. Safe for several threads.
 */
final class ManagerThreads {
  static final int MOST = 128;
  private static final long IDLE_SECONDS = 30;

  private final ThreadPoolExecutor threads =
      new ThreadPoolExecutor(
          0,
          MOST,
          IDLE_SECONDS,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          ManagerThreads::daemon);

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "mgr-command");
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Waits for a command that is sent on one of the threads; see {@link TaskWait}.
   *
   * @return empty if it had no answer in time, or all threads wait already and it was not sent
   * @throws RuntimeException what the command threw
   */
  <T> Optional<T> call(Supplier<T> command, Duration patience) {
    FutureTask<T> task = new FutureTask<>(command::get);
    try {
      threads.execute(task);
    } catch (RejectedExecutionException e) {
      return Optional.empty();
    }
    return TaskWait.result(task, patience, "a command to the manager failed");
  }

  /** How many commands have no answer yet. */
  int busy() {
    return threads.getActiveCount();
  }
}
