package io.cephcsi.driver.cluster;

import java.util.function.Supplier;

/**
 * A step of a call that may take minutes, or as long as somebody else likes: a program that checks
 * a file system, the files of a volume one by one, a server of a tenant. Meanwhile the call does
 * not count among those of its cluster that run at once, so that it holds up no other volume's. On
 * a thread that is none of {@link ClusterExecutors} a step is like any other work.
 */
public final class LongStep {
  private static final ThreadLocal<Boolean> WITHIN = ThreadLocal.withInitial(() -> false);

  private LongStep() {}

  /** Does the work of a step, on the same thread. */
  public static <T> T call(Supplier<T> work) {
    CallThreads mine = CallThreads.mine();
    if (mine == null || WITHIN.get() || !mine.stepAside()) {
      return work.get();
    }
    WITHIN.set(true);
    try {
      return work.get();
    } finally {
      WITHIN.remove();
      mine.comeBack();
    }
  }

  /** As {@link #call}, for work without a result. */
  public static void run(Runnable work) {
    call(
        () -> {
          work.run();
          return true;
        });
  }
}
