package io.cephcsi.driver.fsck;

import io.cephcsi.driver.cluster.DaemonThreads;
import java.util.Iterator;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The threads of a check. What they work on is taken from an iterator one by one, so that memory is
 * bounded whatever its length. Each round trip asks for its turn before it begins.
 */
public final class Workers implements AutoCloseable {
  private final int threads;
  private final long intervalNanos;
  private final ExecutorService executor;
  private long next = System.nanoTime();

  /** Starts them. */
  public Workers(CheckSettings settings) {
    this.threads = settings.concurrency();
    this.intervalNanos =
        settings.operationsPerSecond() == 0
            ? 0
            : TimeUnit.SECONDS.toNanos(1) / settings.operationsPerSecond();
    this.executor = Executors.newFixedThreadPool(threads, DaemonThreads.named("fsck"));
  }

  /** Waits until the next round trip may begin. */
  public void turn() {
    if (intervalNanos == 0) {
      return;
    }
    long mine;
    synchronized (this) {
      mine = Math.max(next, System.nanoTime());
      next = mine + intervalNanos;
    }
    long wait = mine - System.nanoTime();
    while (wait > 0) {
      LockSupport.parkNanos(wait);
      wait = mine - System.nanoTime();
    }
  }

  /**
   * Works on each value, several at once, and waits for all.
   *
   * @throws RuntimeException the first failure; what was not begun by then is left out
   */
  public <T> void each(Iterator<T> values, Consumer<T> work) {
    AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
    CountDownLatch ended = new CountDownLatch(threads);
    for (int i = 0; i < threads; i++) {
      executor.execute(
          () -> {
            try {
              run(values, work, failure);
            } catch (RuntimeException e) {
              failure.compareAndSet(null, e);
            } catch (Error e) { // what was not looked at must not count as clean
              failure.compareAndSet(null, new IllegalStateException(e));
              throw e;
            } finally {
              ended.countDown();
            }
          });
    }
    try {
      ended.await();
    } catch (InterruptedException e) {
      failure.compareAndSet(null, new IllegalStateException("interrupted", e));
      Thread.currentThread().interrupt();
    }
    RuntimeException failed = failure.get();
    if (failed != null) {
      throw failed;
    }
  }

  private static <T> void run(
      Iterator<T> values, Consumer<T> work, AtomicReference<@Nullable RuntimeException> failure) {
    while (failure.get() == null) {
      T value;
      synchronized (values) {
        if (!values.hasNext()) {
          return;
        }
        value = values.next();
      }
      work.accept(value);
    }
  }

  @Override
  public void close() {
    executor.shutdownNow();
  }
}
