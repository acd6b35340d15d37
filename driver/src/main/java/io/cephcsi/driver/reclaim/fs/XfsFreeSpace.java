package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Reads the free extents of all allocation groups and checks them against all counters. */
final class XfsFreeSpace {
  /** Bytes of group headers that are read at once. */
  private static final int WINDOW = 512 << 10;

  /** What is kept of each tree block in both lists of them. */
  private static final int OF_BLOCK = 20;

  private final XfsVolume volume;
  private final XfsSuperblock superblock;
  private final RangePlan plan;
  private long free;
  private long inodes;
  private long freeInodes;

  XfsFreeSpace(XfsVolume volume) {
    this.volume = volume;
    this.superblock = volume.superblock;
    this.plan = new RangePlan(volume.device, 0, superblock.blockSize);
  }

  RangePlan collect() throws IOException {
    InspectionMemory memory = volume.device.memory();
    int window = WINDOW / (4 * superblock.sectorSize);
    for (int first = 0; first < superblock.groups; first += window) {
      int end = Math.min(first + window, superblock.groups);
      long[] offsets = new long[end - first];
      for (int group = first; group < end; group++) {
        offsets[group - first] = volume.offset(group, 0);
      }
      ByteBuffer[] headers =
          volume.device.readBlocks(offsets, 4 * superblock.sectorSize, ByteOrder.BIG_ENDIAN);
      for (int group = first; group < end; group++) {
        long before = memory.taken();
        collect(group, new XfsGroupHeader(volume, group, new XfsFields(headers[group - first])));
        memory.giveAllBut(before);
      }
    }
    Refusal.require(
        free == superblock.freeBlocks(), "groups and superblock count free blocks differently");
    Refusal.require(
        inodes == superblock.inodes() && freeInodes == superblock.freeInodes(),
        "groups and superblock count inodes differently");
    return plan.finish();
  }

  private void collect(int group, XfsGroupHeader header) throws IOException {
    XfsFreeTree bySize =
        XfsFreeTree.open(volume, group, header.bySizeRoot(), header.bySizeLevels(), true);
    RangeTally sizes = new RangeTally();
    bySize.forEach(sizes::add);
    XfsFreeTree byBlock =
        XfsFreeTree.open(volume, group, header.byBlockRoot(), header.byBlockLevels(), false);
    UsedBlocks used = used(group, header, bySize, byBlock);
    RangeTally blocks = new RangeTally();
    long base = (long) group * superblock.groupBlocks;
    byBlock.forEach(
        (start, length) -> {
          used.checkApart(start, length);
          blocks.add(start, length);
          plan.add(base + start, length);
        });
    checkCounters(group, header, sizes, blocks, bySize.blocks().length, byBlock.blocks().length);
  }

  private UsedBlocks used(
      int group, XfsGroupHeader header, XfsFreeTree bySize, XfsFreeTree byBlock) {
    long treeBlocks = (long) bySize.blocks().length + byBlock.blocks().length;
    volume.device.memory().take(OF_BLOCK * treeBlocks);
    UsedBlocks used = new UsedBlocks(group, superblock.length(group));
    used.add(0, (4 * superblock.sectorSize + superblock.blockSize - 1) / superblock.blockSize);
    used.addAll(bySize.blocks());
    used.addAll(byBlock.blocks());
    used.addAll(header.reserved());
    used.add(header.inodeRoot(), 1);
    if (group == superblock.logGroup()) {
      used.add(superblock.logBlock(), superblock.logBlocks());
    }
    return used.sorted();
  }

  private void checkCounters(
      int group,
      XfsGroupHeader header,
      RangeTally sizes,
      RangeTally blocks,
      long bySizeBlocks,
      long byBlockBlocks) {
    String where = " in allocation group " + group;
    Refusal.require(sizes.sameAs(blocks), "the two free-space trees differ" + where);
    Refusal.require(
        blocks.sum() == header.freeBlocks() && blocks.longest() == header.longest(),
        "the free-space trees differ from the counters" + where);
    free += header.freeBlocks() + header.reservedCount();
    if (superblock.features().lazyCounters()) {
      long expected = bySizeBlocks - 1 + byBlockBlocks - 1;
      if (superblock.features().reverseMap()) {
        expected += header.reverseMapBlocks() - 1;
      }
      Refusal.require(expected == header.treeBlocks(), "the count of tree blocks is wrong" + where);
      free += header.treeBlocks();
    }
    inodes += header.inodes();
    freeInodes += header.freeInodes();
  }

  /** Blocks of a group that are known to be used: none may be claimed twice, none be free. */
  private static final class UsedBlocks {
    private final int group;
    private final long length;
    private long[] extents = new long[16];
    private int count;
    private int next;
    private long end;

    UsedBlocks(int group, long length) {
      this.group = group;
      this.length = length;
    }

    void addAll(int[] blocks) {
      for (int block : blocks) {
        add(block, 1);
      }
    }

    void add(int start, int blocks) {
      require(start >= 0 && blocks > 0 && (long) start + blocks <= length, start);
      if (count == extents.length) {
        extents = Arrays.copyOf(extents, 2 * count);
      }
      extents[count++] = ((long) start << 32) | blocks;
    }

    UsedBlocks sorted() {
      extents = Arrays.copyOf(extents, count);
      Arrays.sort(extents);
      for (int i = 1; i < count; i++) {
        require(end(i - 1) <= start(i), start(i));
      }
      return this;
    }

    /** Extents must come in ascending order. */
    void checkApart(long from, long blocks) {
      require(blocks > 0 && from >= end && from + blocks <= length, from);
      end = from + blocks;
      while (next < count && end(next) <= from) {
        next++;
      }
      require(next == count || start(next) >= end, from);
    }

    private long start(int index) {
      return extents[index] >>> 32;
    }

    private long end(int index) {
      return start(index) + (extents[index] & 0xffffffffL);
    }

    private void require(boolean holds, long block) {
      if (!holds) {
        throw Refusal.inconsistent(
            "block " + block + " of allocation group " + group + " is claimed twice");
      }
    }
  }
}
