package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;

/** The extent tree: every used extent of every block group; all between them is free. */
final class BtrfsExtentTree {
  private static final int EXTENT_SIZE = 24;
  private static final int TREE_BLOCK_INFO = 18;
  private static final long DATA = 1;
  private static final long TREE_BLOCK = 2;
  private static final long FULL_BACKREF = 1 << 8;
  private static final long NONE = -1;

  private final BtrfsSuperblock superblock;
  private final BtrfsGroups groups;
  private int current;
  private long end;
  private long extent = NONE;

  private BtrfsExtentTree(BtrfsVolume volume) {
    this.superblock = volume.superblock;
    this.groups = new BtrfsGroups(volume.chunks(), superblock.sectorSize, volume.device.memory());
    Refusal.require(groups.count() > 0, "there are no chunks");
    this.end = groups.get(0).chunk.start();
  }

  /** Reads the extent tree and checks it against all counters. */
  static BtrfsGroups read(BtrfsVolume volume, BtrfsTree.Root root) throws IOException {
    BtrfsExtentTree tree = new BtrfsExtentTree(volume);
    BtrfsTree.walk(volume, root, tree::visit);
    while (tree.current < tree.groups.count()) {
      tree.finishGroup();
    }
    long used = 0;
    for (int i = 0; i < tree.groups.count(); i++) {
      tree.groups.get(i).check();
      used += tree.groups.get(i).used();
    }
    Refusal.require(
        used == volume.superblock.bytesUsed(), "block groups and superblock count differently");
    return tree.groups;
  }

  private void visit(BtrfsKey key, BtrfsFields item) {
    switch (key.type()) {
      case BtrfsKey.EXTENT_ITEM -> {
        long flags = checkExtent(item);
        boolean block = (flags & TREE_BLOCK) != 0;
        Refusal.require(
            !block || item.length() >= EXTENT_SIZE + TREE_BLOCK_INFO, "an extent is cut off");
        add(key.objectId(), key.offset(), block);
      }
      case BtrfsKey.METADATA_ITEM -> {
        Refusal.require(
            superblock.features().skinnyMetadata()
                && (checkExtent(item) & TREE_BLOCK) != 0
                && key.offset() >= 0
                && key.offset() < BtrfsSuperblock.LEVELS,
            "a bad tree block extent");
        add(key.objectId(), superblock.nodeSize, true);
      }
      case BtrfsKey.TREE_BLOCK_REF,
          BtrfsKey.EXTENT_DATA_REF,
          BtrfsKey.SHARED_BLOCK_REF,
          BtrfsKey.SHARED_DATA_REF ->
          Refusal.require(key.objectId() == extent, "a reference without its extent");
      case BtrfsKey.BLOCK_GROUP_ITEM -> groups.at(key.objectId()).declare(key, item);
      default -> throw Refusal.unsupported("an item of type " + key.type() + " in the extent tree");
    }
  }

  private long checkExtent(BtrfsFields item) {
    Refusal.require(item.length() >= EXTENT_SIZE, "an extent is cut off");
    long flags = item.u64(16);
    long kind = flags & ~FULL_BACKREF;
    Refusal.require(
        item.u64(0) > 0
            && Long.compareUnsigned(item.u64(8), superblock.generation) <= 0
            && (kind == DATA || kind == TREE_BLOCK),
        "a bad extent");
    return kind;
  }

  /** Notes a used extent, and what is free before it. */
  private void add(long start, long length, boolean block) {
    while (current < groups.count() && start >= groups.get(current).chunk.end()) {
      finishGroup();
    }
    Refusal.require(current < groups.count(), "an extent in no block group");
    BtrfsGroup group = groups.get(current);
    int sector = superblock.sectorSize;
    Refusal.require(
        start >= end
            && length > 0
            && length <= group.chunk.length()
            && start <= group.chunk.end() - length
            && start % sector == 0
            && length % sector == 0
            && block != group.chunk.data()
            && (!block || length == superblock.nodeSize),
        "extent " + start + " overlaps another or does not fit its block group");
    if (start > end) {
      groups.addFree(group, end, start - end);
    }
    group.addUsed(length);
    extent = start;
    end = start + length;
  }

  private void finishGroup() {
    BtrfsGroup group = groups.get(current);
    if (end < group.chunk.end()) {
      groups.addFree(group, end, group.chunk.end() - end);
    }
    groups.finish(group);
    current++;
    if (current < groups.count()) {
      end = groups.get(current).chunk.start();
    }
  }
}
