package io.cephcsi.bindings.internal;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Waits for what other threads do in a native library. Interrupting the caller does not end the
 * wait, as it ends no native call; it is told afterwards.
 */
public final class TaskWait {
  /** So long that nobody waits for its end. */
  public static final Duration WITHOUT_END = Duration.ofNanos(Long.MAX_VALUE);

  private TaskWait() {}

  /**
   * The result of a task.
   *
   * @param patience how long to wait for it
   * @param failed what to say of a checked exception
   * @return empty if there is none in time
   * @throws RuntimeException what the task threw
   */
  public static <T> Optional<T> result(Future<T> task, Duration patience, String failed) {
    long endNanos = System.nanoTime() + patience.toNanos(); // by differences, which may overflow
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
      throw rethrown(e.getCause(), failed);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static RuntimeException rethrown(@Nullable Throwable cause, String failed) {
    if (cause instanceof Error error) {
      throw error;
    }
    return cause instanceof RuntimeException exception
        ? exception
        : new IllegalStateException(failed, cause);
  }
}
