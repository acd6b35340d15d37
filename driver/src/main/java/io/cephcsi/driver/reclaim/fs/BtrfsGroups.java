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
  private static final int RANGE = 2 * Integer.BYTES;

  private final BtrfsChunks chunks;
  private final InspectionMemory memory;
  private final int sectorSize;
  private final int mostRanges;
  private final List<BtrfsGroup> groups = new ArrayList<>();
  private long kept;
  private long shortest = 1;
  private long omitted;

  private int[] pairs = new int[64];
  private int used;

  BtrfsGroups(BtrfsChunks chunks, int sectorSize, InspectionMemory memory) {
    this.chunks = chunks;
    this.sectorSize = sectorSize;
    this.memory = memory;
    // Twice what the list of ranges takes that is made of them.
    this.mostRanges = (int) (2 * memory.forRanges() / RANGE);
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
      memory.take(2L * used * Integer.BYTES);
      pairs = Arrays.copyOf(pairs, 2 * used);
      memory.give((long) used * Integer.BYTES);
    }
    pairs[used++] = (int) ((start - group.chunk.start()) / sectorSize);
    pairs[used++] = sectors;
  }

  /** To be called after the last range of a group. */
  void finish(BtrfsGroup group) {
    memory.take((long) used * Integer.BYTES);
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
        memory.give((long) (ranges.length - left) * Integer.BYTES);
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
