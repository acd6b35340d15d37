package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.TreeMap;

/** The bytes of an attribute of a metadata file, whose parts may come in any order. */
final class NtfsStream {
  private static final int MOST_RUNS = 1 << 18;

  private final NtfsBoot boot;
  private final Device device;
  private final String name;
  private final TreeMap<Long, NtfsRuns> waiting = new TreeMap<>();
  private long[] ends = new long[8];
  private long[] starts = new long[8];
  private int count;
  private int waitingRuns;
  private long allocated = -1;
  private long size;
  private long initialized;

  NtfsStream(Device device, NtfsBoot boot, String name) {
    this.device = device;
    this.boot = boot;
    this.name = name;
  }

  /** Adds a part. */
  void add(NtfsAttribute part, NtfsRuns runs) {
    if (part.firstCluster() == 0) {
      Refusal.require(allocated < 0, name + " is there twice");
      allocated = part.allocated();
      size = part.size();
      initialized = part.initialized();
      Refusal.require(
          initialized <= size && size <= allocated && !part.counted(), name + " has wrong sizes");
    }
    Refusal.require(
        waiting.put(part.firstCluster(), runs) == null, name + " has a part that is there twice");
    waitingRuns += runs.count() + 1;
    device.memory().take(bytesOf(runs));
    if (waitingRuns + count > MOST_RUNS) {
      throw Refusal.unsupported(name + " has too many fragments");
    }
    NtfsRuns next = waiting.remove(mapped());
    while (next != null) {
      append(next);
      device.memory().give(bytesOf(next));
      waitingRuns -= next.count() + 1;
      next = next.length() == 0 ? null : waiting.remove(mapped());
    }
  }

  /** What a part that waits takes in memory: its runs, and what they are kept in. */
  private static long bytesOf(NtfsRuns runs) {
    return 32L * runs.count() + 256;
  }

  private void append(NtfsRuns runs) {
    for (int i = 0; i < runs.count(); i++) {
      Refusal.require(runs.cluster(i) != NtfsRuns.HOLE, name + " has a hole");
      if (count == ends.length) {
        device.memory().take(3L * count * Long.BYTES);
        ends = Arrays.copyOf(ends, 2 * count);
        starts = Arrays.copyOf(starts, 2 * count);
      }
      long end = mapped() + runs.length(i);
      Refusal.require(end <= boot.clusters, name + " is larger than the volume");
      starts[count] = runs.cluster(i);
      ends[count++] = end;
    }
  }

  /** Clusters from the first on whose places are known. */
  private long mapped() {
    return count == 0 ? 0 : ends[count - 1];
  }

  long mappedBytes() {
    return mapped() * boot.clusterSize;
  }

  /** Refuses unless all parts are there. */
  NtfsStream complete() {
    Refusal.require(
        allocated >= 0 && waiting.isEmpty() && mappedBytes() == allocated,
        name + " is not there as a whole");
    return this;
  }

  /** Bytes in the stream. */
  long size() {
    return size;
  }

  /** Bytes that were written; what follows counts as zeros. */
  long initialized() {
    return initialized;
  }

  /** First cluster of the volume that the stream has. */
  long start() {
    Refusal.require(count > 0, name + " has no clusters");
    return starts[0];
  }

  /** Reads bytes, little-endian, at position 0 of the result. */
  ByteBuffer read(long offset, int length) throws IOException {
    Refusal.require(
        offset >= 0 && length <= mappedBytes() && offset <= mappedBytes() - length,
        name + " is too short");
    ByteBuffer into = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    int run = Arrays.binarySearch(ends, 0, count, offset / boot.clusterSize);
    run = run >= 0 ? run + 1 : -run - 1;
    while (into.hasRemaining()) {
      long at = offset + into.position();
      long runStart = (run == 0 ? 0 : ends[run - 1]) * boot.clusterSize;
      long rest = ends[run] * boot.clusterSize - at;
      int piece = (int) Math.min(rest, into.remaining());
      long place = starts[run] * boot.clusterSize + (at - runStart);
      into.put(device.read(place, piece, ByteOrder.LITTLE_ENDIAN));
      run++;
    }
    return into.flip();
  }
}
