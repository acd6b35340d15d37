package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.cluster.DaemonThreads;
import io.cephcsi.driver.volume.VolumeException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * A question to the manager that goes out before its answer is needed, by a thread of its own, so
 * that nobody waits for it while other work is done. What it changes may be changed though the
 * caller fails before it takes the answer.
 *
 * @param <T> the answer
 */
final class Ahead<T> {
  /** Until a command that was sent before has reached the manager, which answers in order. */
  private static final long BEHIND_NANOS = Duration.ofMillis(1).toNanos();

  private static final int THREADS = 16; // as many as one cluster's calls have
  private static final ThreadPoolExecutor SENDERS =
      new ThreadPoolExecutor(
          0,
          THREADS,
          10,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          DaemonThreads.named("ask-manager"));

  private final FutureTask<T> task;

  private Ahead(FutureTask<T> task) {
    this.task = task;
  }

  /** Asks now. */
  static <T> Ahead<T> of(Supplier<T> question) {
    return begin(question, 0);
  }

  /**
   * Asks what the command will have done that the caller sends next: the question waits for that in
   * the manager's queue. It may overtake the command all the same, and then sees nothing of it, or
   * fails: the answer is empty then, and the caller asks again.
   */
  static <T> Ahead<Optional<T>> behind(Supplier<Optional<T>> question) {
    return begin(
        () -> {
          try {
            return question.get();
          } catch (CephException | VolumeException e) {
            return Optional.empty();
          }
        },
        BEHIND_NANOS);
  }

  private static <T> Ahead<T> begin(Supplier<T> question, long pause) {
    FutureTask<T> task = new FutureTask<>(question::get);
    try {
      SENDERS.execute(
          () -> {
            if (pause > 0) {
              LockSupport.parkNanos(pause);
            }
            task.run();
          });
    } catch (RejectedExecutionException e) {
      // All are busy: whoever needs the answer asks.
    }
    return new Ahead<>(task);
  }

  /**
   * The answer; asks when nobody has begun to.
   *
   * @throws RuntimeException what the question threw
   */
  T answer() {
    task.run(); // does nothing when it has begun
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return task.get();
        } catch (InterruptedException e) {
          interrupted = true; // as a command that the caller sends itself, it cannot be cut off
        }
      }
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new IllegalStateException(e.getCause());
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
