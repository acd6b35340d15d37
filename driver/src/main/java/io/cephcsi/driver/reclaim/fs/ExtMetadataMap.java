package io.cephcsi.driver.reclaim.fs;

import java.util.Arrays;

/**
 * The blocks that hold the file system's own tables: superblocks, descriptors, bitmaps and inode
 * tables of all groups, which flex_bg may put into other groups than their own.
 *
 * <p>No two of them may overlap, and all must be marked used: together this catches descriptors
 * that point to the wrong place even where there are no checksums.
 */
final class ExtMetadataMap {
  private static final int LENGTH_BITS = 24;
  private static final long LENGTH_MASK = (1L << LENGTH_BITS) - 1;

  private static final int MOST_OF_GROUP = 4;

  /** Start and length of each extent in one long, ascending; {@code count} of them. */
  private final long[] extents;

  private final int count;
  private int next;

  ExtMetadataMap(
      ExtGeometry geometry, ExtGroupTable table, boolean flexible, InspectionMemory memory) {
    memory.take((long) geometry.groups * MOST_OF_GROUP * Long.BYTES);
    extents = new long[geometry.groups * MOST_OF_GROUP];
    count = fill(geometry, table, flexible);
    Arrays.sort(extents, 0, count);
    for (int i = 1; i < count; i++) {
      Refusal.require(
          end(extents[i - 1]) <= start(extents[i]),
          "two pieces of metadata claim block " + start(extents[i]));
    }
  }

  private int fill(ExtGeometry geometry, ExtGroupTable table, boolean flexible) {
    int at = 0;
    for (int group = 0; group < geometry.groups; group++) {
      int reserved = geometry.reservedAtStart(group);
      if (reserved > 0) {
        extents[at++] = extent(geometry.firstBlock(group), reserved, group, geometry, false);
      }
      extents[at++] = extent(table.blockBitmap(group), 1, group, geometry, flexible);
      extents[at++] = extent(table.inodeBitmap(group), 1, group, geometry, flexible);
      extents[at++] =
          extent(table.inodeTable(group), geometry.inodeTableBlocks, group, geometry, flexible);
    }
    return at;
  }

  private static long extent(
      long start, int length, int group, ExtGeometry geometry, boolean anywhere) {
    long lowest = anywhere ? geometry.firstDataBlock : geometry.firstBlock(group);
    long end = anywhere ? geometry.blocks : geometry.endBlock(group);
    Refusal.require(
        start >= lowest && length <= LENGTH_MASK && start <= end - length,
        "metadata of group " + group + " lies outside of the blocks that it may use");
    return (start << LENGTH_BITS) | length;
  }

  /**
   * Marks the clusters of a group that hold metadata. Groups must be asked for in ascending order.
   *
   * @param bitmap all zero; bit n is set for the n-th cluster of the group
   */
  void mark(int group, ExtGeometry geometry, byte[] bitmap) {
    long first = geometry.firstBlock(group);
    long end = geometry.endBlock(group);
    int index = next;
    while (index < count && start(extents[index]) < end) {
      long from = Math.max(start(extents[index]), first);
      long to = Math.min(end(extents[index]), end);
      if (to > from) {
        int last = (int) ((to - 1 - first) / geometry.ratio);
        for (int bit = (int) ((from - first) / geometry.ratio); bit <= last; bit++) {
          bitmap[bit >> 3] |= (byte) (1 << (bit & 7));
        }
      }
      if (end(extents[index]) <= end) {
        next = index + 1;
      }
      index++;
    }
  }

  private static long start(long extent) {
    return extent >>> LENGTH_BITS;
  }

  private static long end(long extent) {
    return (extent >>> LENGTH_BITS) + (extent & LENGTH_MASK);
  }
}
