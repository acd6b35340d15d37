package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.BitSet;

/**
 * Which clusters of exFAT belong to a file, and the parts of the file allocation table that say so.
 *
 * <p>Of the table those pages are read that a chain goes through, each once: files that lie in one
 * piece have nothing there.
 */
final class ExfatClusters {
  private static final int END = -1;
  private static final int PAGE_SHIFT = 14;
  private static final int MOST_PAGES = 512;
  private static final int CHUNK = 1 << 20;

  private final Device device;
  private final ExfatBootRegion boot;
  private final ByteBuffer[] pages;
  private final BitSet claimed;
  private int pagesRead;

  /** Clusters of a file: a chain of the table, or so many one behind the other. */
  record Allocation(int first, int count, boolean contiguous) {}

  /** Receives the content of clusters, part by part. */
  interface Content {
    void take(ByteBuffer part) throws IOException;
  }

  ExfatClusters(Device device, ExfatBootRegion boot) throws IOException {
    this.device = device;
    this.boot = boot;
    device.memory().take(boot.clusters / 8);
    this.pages = new ByteBuffer[((boot.clusters + 2) >> PAGE_SHIFT) + 1];
    this.claimed = new BitSet(boot.clusters + 2);
    Refusal.require(
        entry(0) == 0xFFFFFFF8 && entry(1) == -1, "the file allocation table has a bad beginning");
  }

  InspectionMemory memory() {
    return device.memory();
  }

  /** Claims the clusters of a file whose length is known. */
  Allocation claim(int first, long length, boolean contiguous) throws IOException {
    int count = boot.clustersOf(length);
    if (!contiguous) {
      int found = claimChain(first, count);
      Refusal.require(found == count, "a file's size and its clusters do not agree");
      return new Allocation(first, count, false);
    }
    Refusal.require(first >= 2 && first - 2 <= boot.clusters - count, "a file lies out of range");
    int taken = claimed.nextSetBit(first);
    Refusal.require(taken < 0 || taken >= first + count, "two files have the same cluster");
    claimed.set(first, first + count);
    return new Allocation(first, count, true);
  }

  /** Claims a chain of any length. */
  Allocation claim(int first) throws IOException {
    return new Allocation(first, claimChain(first, boot.clusters), false);
  }

  private int claimChain(int first, int most) throws IOException {
    int count = 0;
    for (int cluster = first; cluster != END; cluster = entry(cluster)) {
      Refusal.require(
          cluster >= 2 && cluster < boot.clusters + 2, "a chain of clusters leaves the volume");
      Refusal.require(!claimed.get(cluster), "two files have the same cluster");
      Refusal.require(count < most, "a chain of clusters is longer than its file");
      claimed.set(cluster);
      count++;
    }
    return count;
  }

  private int entry(int cluster) throws IOException {
    int page = cluster >> PAGE_SHIFT;
    if (pages[page] == null) {
      if (++pagesRead > MOST_PAGES) {
        throw Refusal.unsupported("too many chains in the file allocation table");
      }
      long at = (long) page << PAGE_SHIFT;
      int length = (int) Math.min(1 << PAGE_SHIFT, boot.clusters + 2 - at) * 4;
      device.memory().take(length);
      pages[page] = device.read(boot.table + 4 * at, length, ByteOrder.LITTLE_ENDIAN);
    }
    return pages[page].getInt(4 * (cluster & ((1 << PAGE_SHIFT) - 1)));
  }

  /** Reads claimed clusters. */
  void read(Allocation allocation, Content content) throws IOException {
    int cluster = allocation.first;
    int left = allocation.count;
    while (left > 0) {
      int run = 1;
      while (run < left && (run + 1) << boot.clusterShift <= CHUNK) {
        if (follower(allocation, cluster + run - 1) != cluster + run) {
          break;
        }
        run++;
      }
      readRun(boot.offsetOf(cluster), (long) run << boot.clusterShift, content);
      left -= run;
      cluster = left == 0 ? END : follower(allocation, cluster + run - 1);
    }
  }

  private void readRun(long offset, long length, Content content) throws IOException {
    for (long at = 0; at < length; at += CHUNK) {
      int part = (int) Math.min(CHUNK, length - at);
      content.take(device.read(offset + at, part, ByteOrder.LITTLE_ENDIAN));
    }
  }

  private int follower(Allocation allocation, int cluster) throws IOException {
    return allocation.contiguous ? cluster + 1 : entry(cluster);
  }

  /**
   * Adds the clusters that are free by the allocation bitmap, counted from cluster 2.
   *
   * @throws Refusal if one of them belongs to a file
   */
  void collect(Allocation bitmap, RangePlan plan) throws IOException {
    int[] cluster = {2};
    read(
        bitmap,
        part -> {
          for (int i = 0; i < part.limit(); i++) {
            int used = part.get(i);
            for (int bit = 0; bit < 8 && cluster[0] < boot.clusters + 2; bit++) {
              if ((used >> bit & 1) == 0) {
                Refusal.require(!claimed.get(cluster[0]), "the bitmap has a file's cluster free");
                plan.add(cluster[0] - 2, 1);
              }
              cluster[0]++;
            }
          }
        });
    Refusal.require(cluster[0] == boot.clusters + 2, "the allocation bitmap is too short");
  }
}
