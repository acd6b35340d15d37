package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The file system under inspection: device, superblock, chunks, and what is known to be used. */
final class BtrfsVolume {
  /** 16 MiB of addresses: an extent tree of 32 GiB in usual nodes. */
  private static final int MOST_BLOCKS = 2 << 20;

  final Device device;
  final BtrfsSuperblock superblock;
  private BtrfsChunks chunks;
  private @Nullable ByteBuffer chunkTree;
  private long[] blocks = new long[64];
  private int count;

  private BtrfsVolume(Device device, BtrfsSuperblock superblock) {
    this.device = device;
    this.superblock = superblock;
    this.chunks = BtrfsChunks.ofSuperblock(superblock);
  }

  /** Reads the superblocks and the chunk tree. */
  static BtrfsVolume open(Device device) throws IOException {
    BtrfsVolume volume = new BtrfsVolume(device, BtrfsSuperblock.read(device));
    volume.chunks = BtrfsChunks.read(volume, volume.chunks);
    return volume;
  }

  BtrfsChunks chunks() {
    return chunks;
  }

  /** Notes that a tree block is used, and answers the byte of its first copy on the device. */
  long noteBlock(long address) {
    long offset = chunks.ofBlock(address, superblock.nodeSize);
    if (count == blocks.length) {
      if (count >= MOST_BLOCKS) {
        throw Refusal.unsupported("more than " + MOST_BLOCKS + " tree blocks");
      }
      device.memory().take(2L * count * Long.BYTES);
      blocks = Arrays.copyOf(blocks, 2 * count);
      device.memory().give((long) count * Long.BYTES);
    }
    blocks[count++] = address;
    return offset;
  }

  /** Logical addresses of the tree blocks noted, ascending. */
  long[] blocks() {
    device.memory().take((long) count * Long.BYTES);
    long[] sorted = Arrays.copyOf(blocks, count);
    Arrays.sort(sorted);
    return sorted;
  }

  /** Whether this is the UUID of the chunk tree, which all blocks carry; the first says it. */
  boolean isChunkTree(ByteBuffer uuid) {
    if (chunkTree == null) {
      chunkTree = ByteBuffer.allocate(BtrfsFields.UUID_LENGTH).put(0, uuid, 0, uuid.limit());
    }
    return uuid.equals(chunkTree);
  }
}
