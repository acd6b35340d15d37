package io.cephcsi.driver.reclaim.fs;

/** Free ranges of the device: inside of chunks, and between them. */
final class BtrfsFreeSpace {
  /** Bytes at each copy of the superblock that nothing else may use. */
  private static final long SUPERBLOCK_AREA = 64 << 10;

  private final BtrfsSuperblock superblock;
  private final BtrfsDeviceExtents extents;
  private final BtrfsGroups groups;
  private final RangePlan plan;

  BtrfsFreeSpace(BtrfsVolume volume, BtrfsDeviceExtents extents, BtrfsGroups groups) {
    this.superblock = volume.superblock;
    this.extents = extents;
    this.groups = groups;
    this.plan = new RangePlan(volume.device, 0, superblock.sectorSize);
  }

  RangePlan plan() {
    long end = BtrfsChunk.RESERVED;
    for (int i = 0; i < extents.count(); i++) {
      long start = extents.start(i);
      BtrfsGroup group = groups.get(extents.chunk(i));
      add(end, start - end);
      int[] ranges = group.ranges();
      for (int at = 0; at < ranges.length; at += 2) {
        add(
            start + (long) ranges[at] * superblock.sectorSize,
            (long) ranges[at + 1] * superblock.sectorSize);
      }
      end = start + group.chunk.length();
    }
    add(end, superblock.totalBytes - end);
    plan.omit(groups.omitted());
    return plan.finish();
  }

  /** Adds a range without the areas of superblocks. */
  private void add(long from, long length) {
    long start = from;
    long end = from + length;
    for (long copy : BtrfsSuperblock.COPIES) {
      if (start < copy) {
        addWhole(start, Math.min(end, copy));
      }
      start = Math.max(start, Math.min(end, copy + SUPERBLOCK_AREA));
    }
    addWhole(start, end);
  }

  private void addWhole(long start, long end) {
    if (start < end) {
      plan.add(start / superblock.sectorSize, (end - start) / superblock.sectorSize);
    }
  }
}
