package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** Runs of clusters, as an attribute lists them. */
final class NtfsRuns {
  /** Stands for the cluster of a hole. */
  static final long HOLE = -1;

  private long[] runs = new long[8];
  private int count;
  private long length;

  /**
   * @param list encoded: a byte with two sizes, then length and distance of each run; ends in 0
   * @param clusters of the volume; no run may end after it
   */
  NtfsRuns(ByteBuffer list, long clusters) {
    long cluster = 0;
    int at = 0;
    while (true) {
      Refusal.require(at < list.limit(), "a list of runs has no end");
      int lengthSize = list.get(at) & 0xf;
      int distanceSize = (list.get(at) >> 4) & 0xf;
      if (list.get(at++) == 0) {
        return;
      }
      Refusal.require(
          lengthSize > 0
              && lengthSize <= 8
              && distanceSize <= 8
              && at + lengthSize + distanceSize <= list.limit(),
          "a list of runs is malformed");
      long run = number(list, at, lengthSize);
      Refusal.require(run > 0 && run <= Long.MAX_VALUE - length, "a run has a wrong length");
      if (distanceSize == 0) {
        add(HOLE, run);
      } else {
        cluster += number(list, at + lengthSize, distanceSize);
        Refusal.require(
            cluster >= 0 && run <= clusters && cluster <= clusters - run,
            "a run lies outside of the volume");
        add(cluster, run);
      }
      at += lengthSize + distanceSize;
    }
  }

  private static long number(ByteBuffer list, int at, int size) {
    long number = list.get(at + size - 1);
    for (int i = size - 2; i >= 0; i--) {
      number = number << 8 | (list.get(at + i) & 0xff);
    }
    return number;
  }

  private void add(long cluster, long run) {
    if (2 * count == runs.length) {
      runs = Arrays.copyOf(runs, 2 * runs.length);
    }
    runs[2 * count] = cluster;
    runs[2 * count + 1] = run;
    count++;
    length += run;
  }

  int count() {
    return count;
  }

  /** First cluster of a run on the volume, or {@link #HOLE}. */
  long cluster(int index) {
    return runs[2 * index];
  }

  /** Clusters in a run. */
  long length(int index) {
    return runs[2 * index + 1];
  }

  /** Clusters in all runs. */
  long length() {
    return length;
  }
}
