package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32C;

/** Reads the block bitmaps, checks them against all counters, and collects the free blocks. */
final class ExtFreeSpace {
  /** Bytes of bitmaps held at a time. */
  private static final int WINDOW = 1 << 20;

  private final Device device;
  private final ExtSuperblock superblock;
  private final ExtGeometry geometry;
  private final ExtGroupTable table;
  private final ExtMetadataMap metadata;
  private final RangePlan plan;
  private final boolean checksums;
  private final int seed;
  private final byte[] expected;
  private long freeBlocks;

  ExtFreeSpace(Device device, ExtSuperblock superblock, ExtGeometry geometry, ExtGroupTable table) {
    this.device = device;
    this.superblock = superblock;
    this.geometry = geometry;
    this.table = table;
    ExtFeatures features = superblock.features();
    boolean flexible = features.incompat(ExtFeatures.INCOMPAT_FLEX_BG);
    this.metadata = new ExtMetadataMap(geometry, table, flexible, device.memory());
    this.plan = new RangePlan(device, 0, geometry.blockSize);
    this.checksums = features.metadataChecksums();
    this.seed = checksums ? superblock.checksumSeed() : 0;
    this.expected = new byte[geometry.blockSize];
  }

  RangePlan collect() throws IOException {
    int window = Math.max(1, WINDOW / geometry.blockSize);
    for (int first = 0; first < geometry.groups; first += window) {
      collect(first, Math.min(first + window, geometry.groups));
    }
    Refusal.require(
        freeBlocks == superblock.freeBlocks(),
        "the bitmaps have "
            + freeBlocks
            + " free blocks, the superblock counts "
            + superblock.freeBlocks());
    return plan.finish();
  }

  private void collect(int first, int end) throws IOException {
    ByteBuffer[] bitmaps = readBitmaps(first, end);
    for (int group = first; group < end; group++) {
      Arrays.fill(expected, (byte) 0);
      metadata.mark(group, geometry, expected);
      ByteBuffer bitmap = bitmaps[group - first];
      if (table.bitmapIsImplied(group)) {
        bitmap = ByteBuffer.wrap(expected).order(ByteOrder.LITTLE_ENDIAN);
      } else {
        check(group, bitmap);
      }
      collect(group, bitmap);
    }
  }

  /** The bitmaps of the groups, in as few reads as their places allow. */
  private ByteBuffer[] readBitmaps(int first, int end) throws IOException {
    // Offset and index in one array would need objects: sort the offsets, then look them up.
    long[] offsets = new long[end - first];
    int count = 0;
    for (int group = first; group < end; group++) {
      if (!table.bitmapIsImplied(group)) {
        offsets[count++] = table.blockBitmap(group) * geometry.blockSize;
      }
    }
    offsets = Arrays.copyOf(offsets, count);
    Arrays.sort(offsets);
    ByteBuffer[] sorted = device.readBlocks(offsets, geometry.blockSize, ByteOrder.LITTLE_ENDIAN);
    ByteBuffer[] bitmaps = new ByteBuffer[end - first];
    for (int group = first; group < end; group++) {
      if (!table.bitmapIsImplied(group)) {
        long offset = table.blockBitmap(group) * geometry.blockSize;
        bitmaps[group - first] = sorted[Arrays.binarySearch(offsets, offset)];
      }
    }
    return bitmaps;
  }

  private void check(int group, ByteBuffer bitmap) {
    if (checksums) {
      CRC32C crc = Checksums.crc32cFrom(seed);
      crc.update(bitmap.slice(0, geometry.bitmapBytes()));
      if (!table.bitmapChecksumIs(group, Checksums.register(crc))) {
        throw Refusal.checksum("the block bitmap of group " + group);
      }
    }
    for (int i = 0; i < expected.length; i++) {
      Refusal.require(
          (expected[i] & ~bitmap.get(i)) == 0,
          "the bitmap of group " + group + " has metadata marked as free");
    }
  }

  private void collect(int group, ByteBuffer bitmap) {
    int clusters = geometry.clusters(group);
    long first = geometry.firstBlock(group);
    int ratio = geometry.ratio;
    int free = 0;
    int from = next(bitmap, 0, clusters, false);
    while (from < clusters) {
      int to = next(bitmap, from, clusters, true);
      plan.add(first + (long) from * ratio, (long) (to - from) * ratio);
      free += to - from;
      from = next(bitmap, to, clusters, false);
    }
    Refusal.require(
        free == table.freeClusters(group),
        "group "
            + group
            + " has "
            + free
            + " free, its descriptor counts "
            + table.freeClusters(group));
    freeBlocks += (long) free * ratio;
  }

  /**
   * The next bit at or after {@code from} that is set, or clear; {@code limit} if there is none.
   */
  private static int next(ByteBuffer bitmap, int from, int limit, boolean set) {
    int position = from;
    while (position < limit) {
      long word = bitmap.getLong((position >>> 6) << 3);
      long rest = (set ? word : ~word) >>> (position & 63);
      if (rest != 0) {
        return Math.min(position + Long.numberOfTrailingZeros(rest), limit);
      }
      position = (position | 63) + 1;
    }
    return limit;
  }
}
