package io.cephcsi.driver.reclaim.fs;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * All block groups with their free ranges by logical address, 8 bytes a range.
 *
 * <p>When there are too many ranges, the shortest are dropped; the tallies know all of them.
 */
final class BtrfsGroups {
  /** Three million ranges are 24 MiB. */
  private static final int MOST_RANGES = 3 << 20;

  private final BtrfsChunks chunks;
  private final int sectorSize;
  private final int mostRanges;
  private final List<BtrfsGroup> groups = new ArrayList<>();
  private long kept;
  private long shortest = 1;
  private long omitted;

  private int[] pairs = new int[64];
  private int used;

  BtrfsGroups(BtrfsChunks chunks, int sectorSize) {
    this(chunks, sectorSize, MOST_RANGES);
  }

  BtrfsGroups(BtrfsChunks chunks, int sectorSize, int mostRanges) {
    this.chunks = chunks;
    this.sectorSize = sectorSize;
    this.mostRanges = mostRanges;
    for (int i = 0; i < chunks.count(); i++) {
      groups.add(new BtrfsGroup(chunks.get(i)));
    }
  }

  int count() {
    return groups.size();
  }

  BtrfsGroup get(int index) {
    return groups.get(index);
  }

  /** The group that has an address; refuses when none has. */
  BtrfsGroup at(long address) {
    return groups.get(chunks.indexOf(address));
  }

  /** Whether no group has any of these addresses. */
  boolean haveNoneOf(long start, long length) {
    return chunks.haveNoneOf(start, length);
  }

  /** Adds a free range, which ends before the next one of this group starts. */
  void addFree(BtrfsGroup group, long start, long length) {
    group.free().add(start, length);
    int sectors = (int) (length / sectorSize);
    while (kept + used / 2 >= mostRanges && sectors >= shortest) {
      dropShortest(group);
    }
    if (sectors < shortest) {
      omitted += (long) sectors * group.chunk.copies();
      return;
    }
    if (used == pairs.length) {
      pairs = Arrays.copyOf(pairs, 2 * used);
    }
    pairs[used++] = (int) ((start - group.chunk.start()) / sectorSize);
    pairs[used++] = sectors;
  }

  /** To be called after the last range of a group. */
  void finish(BtrfsGroup group) {
    group.keep(Arrays.copyOf(pairs, used));
    kept += used / 2;
    used = 0;
  }

  /** Drops ranges of the groups that are finished and of the one at hand. */
  private void dropShortest(BtrfsGroup atHand) {
    shortest *= 2;
    kept = 0;
    for (BtrfsGroup group : groups) {
      int[] ranges = group.ranges();
      int left = dropFrom(ranges, ranges.length, group);
      if (left < ranges.length) {
        group.keep(Arrays.copyOf(ranges, left));
      }
      kept += left / 2;
    }
    used = dropFrom(pairs, used, atHand);
  }

  private int dropFrom(int[] ranges, int length, BtrfsGroup group) {
    int left = 0;
    for (int i = 0; i < length; i += 2) {
      if (ranges[i + 1] >= shortest) {
        ranges[left++] = ranges[i];
        ranges[left++] = ranges[i + 1];
      } else {
        omitted += (long) ranges[i + 1] * group.chunk.copies();
      }
    }
    return left;
  }

  /**
   * Checks that no tree block is in a free range.
   *
   * @param blocks logical addresses, ascending
   */
  void checkUsed(long[] blocks, int nodeSize) {
    int next = 0;
    for (BtrfsGroup group : groups) {
      int[] ranges = group.ranges();
      for (int i = 0; i < ranges.length; i += 2) {
        long from = group.chunk.start() + (long) ranges[i] * sectorSize;
        long end = from + (long) ranges[i + 1] * sectorSize;
        while (next < blocks.length && blocks[next] + nodeSize <= from) {
          next++;
        }
        Refusal.require(
            next == blocks.length || blocks[next] >= end, "a tree block is in a free range");
      }
    }
  }

  /** Sectors on the device that are free and were dropped. */
  long omitted() {
    return omitted;
  }
}
