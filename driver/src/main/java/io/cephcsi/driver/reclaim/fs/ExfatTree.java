package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** Walks all directories of exFAT and claims the clusters of what they name. */
final class ExfatTree {
  /** Bytes of all directories together, and directories that wait, before we give up. */
  private static final long MOST_BYTES = 1L << 30;

  private static final int MOST_WAITING = 1 << 18;

  /** What one that waits takes in memory. */
  private static final int OF_WAITING = 40;

  private static final long LONGEST = 256L << 20;
  private static final long LONGEST_UPCASE = 128 << 10;

  private final ExfatBootRegion boot;
  private final ExfatClusters clusters;
  private final ArrayDeque<ExfatClusters.Allocation> waiting = new ArrayDeque<>();
  private final List<ExfatClusters.Allocation> bitmaps = new ArrayList<>();
  private int upcases;
  private long bytes;

  ExfatTree(ExfatBootRegion boot, ExfatClusters clusters) {
    this.boot = boot;
    this.clusters = clusters;
  }

  /**
   * Walks the tree.
   *
   * @return where the allocation bitmap is
   * @throws Refusal if anything in a directory is damaged or unknown
   */
  ExfatClusters.Allocation walk() throws IOException {
    scan(clusters.claim(boot.rootCluster), true);
    Refusal.require(
        bitmaps.size() == 1 && upcases == 1, "not one allocation bitmap and one up-case table");
    while (!waiting.isEmpty()) {
      clusters.memory().give(OF_WAITING);
      scan(waiting.removeLast(), false);
    }
    return bitmaps.get(0);
  }

  private void scan(ExfatClusters.Allocation directory, boolean root) throws IOException {
    long length = (long) directory.count() << boot.clusterShift;
    Refusal.require(length <= LONGEST, "a directory is too long");
    bytes += length;
    if (bytes > MOST_BYTES) {
      throw Refusal.unsupported("the directories are longer than " + MOST_BYTES + " bytes");
    }
    ExfatDirectory entries = new ExfatDirectory(root);
    clusters.read(directory, part -> entries.take(part, this::claim));
    entries.end();
  }

  private void claim(ExfatDirectory.Stream stream) throws IOException {
    switch (stream.kind()) {
      case FILE -> clusters.claim(stream.first(), stream.length(), stream.contiguous());
      case DIRECTORY -> {
        Refusal.require(
            stream.length() % (1L << boot.clusterShift) == 0, "a directory has a partial cluster");
        clusters.memory().take(OF_WAITING);
        waiting.addLast(clusters.claim(stream.first(), stream.length(), stream.contiguous()));
        if (waiting.size() > MOST_WAITING) {
          throw Refusal.unsupported("more directories than " + MOST_WAITING);
        }
      }
      case BITMAP -> {
        Refusal.require(
            stream.length() == (boot.clusters + 7L) / 8, "the bitmap is not of the right length");
        bitmaps.add(clusters.claim(stream.first(), stream.length(), false));
      }
      case UPCASE -> checkUpcase(stream);
    }
  }

  private void checkUpcase(ExfatDirectory.Stream stream) throws IOException {
    Refusal.require(
        stream.length() > 0 && stream.length() <= LONGEST_UPCASE,
        "the up-case table has a bad length");
    upcases++;
    ByteBuffer table = ByteBuffer.allocate((int) stream.length()).order(ByteOrder.LITTLE_ENDIAN);
    clusters.read(
        clusters.claim(stream.first(), stream.length(), false),
        part -> table.put(part.limit(Math.min(part.limit(), table.remaining()))));
    int sum = 0;
    for (int i = 0; i < table.limit(); i++) {
      sum = Integer.rotateRight(sum, 1) + (table.get(i) & 0xff);
    }
    if (sum != stream.checksum()) {
      throw Refusal.checksum("the up-case table");
    }
  }
}
