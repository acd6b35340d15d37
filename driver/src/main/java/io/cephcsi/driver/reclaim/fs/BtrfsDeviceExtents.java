package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.util.Arrays;

/** The device tree: which parts of the device belong to chunks, checked against the chunks. */
final class BtrfsDeviceExtents {
  private static final int EXTENT_SIZE = 48;
  private static final long REPLACE_STARTED = 1;
  private static final long REPLACE_SUSPENDED = 4;

  private final BtrfsVolume volume;
  private final BtrfsChunks chunks;
  private final int expected;
  private long[] starts = new long[64];
  private int[] owners = new int[64];
  private int count;
  private long end = BtrfsChunk.RESERVED;
  private long allocated;

  private BtrfsDeviceExtents(BtrfsVolume volume) {
    this.volume = volume;
    this.chunks = volume.chunks();
    int copies = 0;
    for (int i = 0; i < chunks.count(); i++) {
      copies += chunks.get(i).copies();
    }
    this.expected = copies;
  }

  /** Reads the device tree. */
  static BtrfsDeviceExtents read(BtrfsVolume volume, BtrfsTree.Root root) throws IOException {
    BtrfsDeviceExtents extents = new BtrfsDeviceExtents(volume);
    BtrfsTree.walk(volume, root, extents::visit);
    Refusal.require(
        extents.count == extents.expected, "chunks and device extents do not correspond");
    Refusal.require(
        extents.allocated == volume.superblock.allocatedBytes(),
        "the device extents differ from the counter");
    return extents;
  }

  private void visit(BtrfsKey key, BtrfsFields item) {
    switch (key.type()) {
      case BtrfsKey.DEV_EXTENT -> visitExtent(key, item);
      case BtrfsKey.DEV_REPLACE -> checkReplace(item);
      case BtrfsKey.PERSISTENT_ITEM -> {}
      default -> throw Refusal.unsupported("an item of type " + key.type() + " in the device tree");
    }
  }

  private void visitExtent(BtrfsKey key, BtrfsFields item) {
    Refusal.require(
        item.length() == EXTENT_SIZE
            && key.objectId() == volume.superblock.deviceId()
            && item.u64(0) == 3
            && item.u64(8) == BtrfsKey.FIRST_CHUNK_TREE,
        "a bad device extent");
    int owner = chunks.indexOf(item.u64(16));
    BtrfsChunk chunk = chunks.get(owner);
    long start = key.offset();
    Refusal.require(
        chunk.start() == item.u64(16)
            && chunk.length() == item.u64(24)
            && chunk.startsAt(start)
            && start >= end
            && count < expected,
        "a device extent that no chunk has");
    if (count == starts.length) {
      starts = Arrays.copyOf(starts, 2 * count);
      owners = Arrays.copyOf(owners, 2 * count);
    }
    starts[count] = start;
    owners[count++] = owner;
    end = start + chunk.length();
    allocated += chunk.length();
  }

  private static void checkReplace(BtrfsFields item) {
    Refusal.require(item.length() >= 40, "a device replace item that is cut off");
    long state = item.u64(32);
    if (state == REPLACE_STARTED || state == REPLACE_SUSPENDED) {
      throw new Refusal(RefusalReason.NOT_CLEAN, "a device replace is not finished");
    }
    Refusal.require(state >= 0 && state < REPLACE_SUSPENDED, "a device replace of unknown state");
  }

  int count() {
    return count;
  }

  /** Where an extent starts on the device, in bytes; ascending. */
  long start(int index) {
    return starts[index];
  }

  /** The number of the chunk that an extent belongs to. */
  int chunk(int index) {
    return owners[index];
  }
}
