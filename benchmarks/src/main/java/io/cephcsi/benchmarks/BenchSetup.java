package io.cephcsi.benchmarks;

import java.io.IOException;
import java.nio.file.Path;

/**
 * How questions are asked.
 *
 * @param conf the ceph.conf of the cluster
 * @param programs the folder of the built C programs
 * @param quick smaller sizes and fewer rounds
 * @param slowed the part of the time by which our side is slowed, to see that it is caught; 0 for
 *     none
 */
record BenchSetup(Path conf, Path programs, boolean quick, double slowed) {
  int scaled(int full, int small) {
    return quick ? small : full;
  }

  String program(String name) {
    return programs.resolve(name).toString();
  }

  /** Seconds that work of ours takes. */
  double seconds(Baseline.Work work) throws IOException, InterruptedException {
    long start = System.nanoTime();
    work.run();
    long took = System.nanoTime() - start;
    if (slowed > 0) {
      long end = System.nanoTime() + (long) (took * slowed);
      while (System.nanoTime() < end) {
        Thread.onSpinWait();
      }
    }
    return (System.nanoTime() - start) / 1e9;
  }
}
