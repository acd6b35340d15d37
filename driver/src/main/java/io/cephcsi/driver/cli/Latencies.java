package io.cephcsi.driver.cli;

import java.util.Arrays;

/**
 * How long calls took, in milliseconds.
 *
 * @param count how many calls
 */
record Latencies(long count, double p50, double p90, double p99, double max) {
  /**
   * Of calls.
   *
   * @param nanos of each, at least one
   */
  static Latencies of(long[] nanos) {
    long[] sorted = nanos.clone();
    Arrays.sort(sorted);
    return new Latencies(
        sorted.length,
        percentile(sorted, 50),
        percentile(sorted, 90),
        percentile(sorted, 99),
        percentile(sorted, 100));
  }

  /** The least that so many percent do not exceed. */
  private static double percentile(long[] sorted, int percent) {
    int rank = (int) ((sorted.length * (long) percent + 99) / 100);
    return sorted[Math.max(rank, 1) - 1] / 1e6;
  }
}
