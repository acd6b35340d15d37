package io.cephcsi.bindings.rados;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

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
   * Waits for a command that is sent on one of the threads. Interrupting the caller does not end
   * the wait, as it does not end any other call of librados.
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
    return answer(task, System.nanoTime() + patience.toNanos());
  }

  /** How many commands have no answer yet. */
  int busy() {
    return threads.getActiveCount();
  }

  private static <T> Optional<T> answer(FutureTask<T> task, long endNanos) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return Optional.of(task.get(endNanos - System.nanoTime(), TimeUnit.NANOSECONDS));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } catch (TimeoutException e) {
      return Optional.empty();
    } catch (ExecutionException e) {
      throw rethrown(e.getCause());
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static RuntimeException rethrown(@Nullable Throwable cause) {
    if (cause instanceof Error error) {
      throw error;
    }
    return cause instanceof RuntimeException exception
        ? exception
        : new IllegalStateException("a command to the manager failed", cause);
  }
}
