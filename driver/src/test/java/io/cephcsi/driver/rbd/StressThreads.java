package io.cephcsi.driver.rbd;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntConsumer;

/** Threads of a program that do the same many times. */
final class StressThreads {
  private StressThreads() {}

  /** Runs the work on each thread as often as there are rounds; it gets a number of its own. */
  static void run(int threads, int rounds, IntConsumer work)
      throws InterruptedException, ExecutionException {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      int first = i * rounds;
      all.add(
          pool.submit(
              () -> {
                for (int round = 0; round < rounds; round++) {
                  work.accept(first + round);
                }
              }));
    }
    pool.shutdown();
    for (Future<?> one : all) {
      one.get();
    }
  }
}
