package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * The free space tree, which must say the same as the extent tree.
 *
 * <p>Some releases of mkfs.btrfs leave entries of groups that they removed, at addresses that no
 * chunk has; these say nothing of the device.
 */
final class BtrfsFreeSpaceTree {
  private static final int BITMAP_BYTES = 256;
  private static final long BITMAPS = 1;

  private final BtrfsGroups groups;
  private final int sectorSize;
  private int seen;
  private @Nullable BtrfsGroup group;
  private RangeTally tally = new RangeTally();
  private long expected;
  private boolean bitmaps;

  /** Where the removed group ends whose entries are passed over; 0 if there is none. */
  private long removedEnd;

  /** Up to where the items of the group reach. */
  private long end;

  /** Where a free range of bitmaps started that has no end yet, or -1. */
  private long open = -1;

  private BtrfsFreeSpaceTree(BtrfsGroups groups, int sectorSize) {
    this.groups = groups;
    this.sectorSize = sectorSize;
  }

  /** Reads the free space tree and compares it with what the extent tree leaves free. */
  static void compare(BtrfsVolume volume, BtrfsTree.Root root, BtrfsGroups groups)
      throws IOException {
    BtrfsFreeSpaceTree tree = new BtrfsFreeSpaceTree(groups, volume.superblock.sectorSize);
    BtrfsTree.walk(volume, root, tree::visit);
    tree.finishGroup();
    require(tree.seen == groups.count());
  }

  private void visit(BtrfsKey key, BtrfsFields item) {
    if (group == null && key.type() != BtrfsKey.FREE_SPACE_INFO) {
      require(groups.haveNoneOf(key.objectId(), key.offset()));
      require(key.objectId() + key.offset() <= removedEnd);
      return;
    }
    switch (key.type()) {
      case BtrfsKey.FREE_SPACE_INFO -> {
        finishGroup();
        if (groups.haveNoneOf(key.objectId(), key.offset())) {
          group = null;
          removedEnd = key.objectId() + key.offset();
        } else {
          startGroup(key, item);
        }
      }
      case BtrfsKey.FREE_SPACE_EXTENT -> {
        checkItem(key);
        require(!bitmaps && item.length() == 0);
        tally.add(key.objectId(), key.offset());
      }
      case BtrfsKey.FREE_SPACE_BITMAP -> {
        long before = end;
        checkItem(key);
        long sectors = key.offset() / sectorSize;
        require(
            bitmaps
                && key.objectId() == before
                && sectors <= BITMAP_BYTES * 8
                && item.length() == (sectors + 7) / 8);
        addBitmap(key.objectId(), (int) sectors, item);
      }
      default ->
          throw Refusal.unsupported("an item of type " + key.type() + " in the free space tree");
    }
  }

  private void startGroup(BtrfsKey key, BtrfsFields item) {
    BtrfsGroup next = groups.at(key.objectId());
    require(
        key.objectId() == next.chunk.start()
            && key.offset() == next.chunk.length()
            && item.length() == 8
            && (item.u32(4) & ~BITMAPS) == 0);
    seen++;
    group = next;
    tally = new RangeTally();
    expected = item.u32(0);
    bitmaps = item.u32(4) == BITMAPS;
    end = next.chunk.start();
    open = -1;
  }

  /** Items ascend and stay inside of their group. */
  private void checkItem(BtrfsKey key) {
    long start = key.objectId();
    long length = key.offset();
    if (group == null) {
      throw differs();
    }
    require(
        start >= end
            && length > 0
            && length <= group.chunk.length()
            && start <= group.chunk.end() - length
            && start % sectorSize == 0
            && length % sectorSize == 0);
    end = start + length;
  }

  private void addBitmap(long start, int sectors, BtrfsFields bits) {
    for (int i = 0; i < sectors; i++) {
      boolean free = (bits.u8(i >>> 3) >>> (i & 7) & 1) != 0;
      long at = start + (long) i * sectorSize;
      if (free && open < 0) {
        open = at;
      } else if (!free && open >= 0) {
        tally.add(open, at - open);
        open = -1;
      }
    }
  }

  private void finishGroup() {
    if (group == null) {
      return;
    }
    if (bitmaps) {
      require(end == group.chunk.end());
      if (open >= 0) {
        tally.add(open, end - open);
      }
    }
    require(tally.sameAs(group.free()) && expected == tally.count());
  }

  private static void require(boolean holds) {
    if (!holds) {
      throw differs();
    }
  }

  private static Refusal differs() {
    return Refusal.inconsistent("the free space tree differs from the extent tree");
  }
}
