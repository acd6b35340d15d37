package io.cephcsi.driver.cluster;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Many small reads of a cluster at once. The caller's thread takes part, so that progress is made
 * when the helpers are busy elsewhere.
 */
public final class ParallelReads {
  private static final int HELPERS = 15;

  private final Executor helpers;

  /**
   * @param helpers threads that may block on the cluster; may refuse
   */
  public ParallelReads(Executor helpers) {
    this.helpers = helpers;
  }

  /**
   * Applies a read to each value.
   *
   * @return the results in the order of the values
   * @throws RuntimeException the first failure; the values not begun by then are left out
   */
  public <A, B> List<B> map(List<A> values, Function<A, B> read) {
    Work<A, B> work = new Work<>(values, read);
    try {
      for (int i = 0; i < Math.min(HELPERS, values.size() - 1); i++) {
        helpers.execute(work);
      }
    } catch (RejectedExecutionException e) {
      // The pool is busy or closing: the caller does it with the help that there is.
    }
    work.run();
    return work.await();
  }

  /** One call's values, taken by the next free thread. */
  private static final class Work<A, B> implements Runnable {
    private final List<A> values;
    private final Function<A, B> read;
    private final List<@Nullable B> results;
    private final AtomicInteger next = new AtomicInteger();
    private final CountDownLatch pending;
    private final AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();

    Work(List<A> values, Function<A, B> read) {
      this.values = values;
      this.read = read;
      this.results = Collections.synchronizedList(new ArrayList<>(values.size()));
      values.forEach(value -> results.add(null));
      this.pending = new CountDownLatch(values.size());
    }

    @Override
    public void run() {
      int i;
      while ((i = next.getAndIncrement()) < values.size()) {
        try {
          if (failure.get() == null) {
            results.set(i, read.apply(values.get(i)));
          }
        } catch (RuntimeException e) {
          failure.compareAndSet(null, e);
        } finally {
          pending.countDown();
        }
      }
    }

    @SuppressWarnings("NullAway") // without a failure each place is filled
    List<B> await() {
      try {
        pending.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted while reading", e);
      }
      RuntimeException failed = failure.get();
      if (failed != null) {
        throw failed;
      }
      return new ArrayList<>(results);
    }
  }
}
