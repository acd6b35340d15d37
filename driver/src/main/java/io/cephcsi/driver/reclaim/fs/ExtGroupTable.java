package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/** The group descriptors, all of them, each with its checksum proved where there is one. */
final class ExtGroupTable {
  private static final int BLOCK_UNINIT = 0x2;
  private static final int INODES_ZEROED = 0x4;
  private static final int KNOWN_FLAGS = 0x7;
  private static final int CHECKSUM_AT = 0x1E;

  /** What a block takes beside its bytes: a buffer and its place. */
  private static final int BUFFER = 96;

  private final ByteBuffer[] blocks;
  private final int perBlock;
  private final int size;
  private final boolean uninitAllowed;

  private ExtGroupTable(ByteBuffer[] blocks, ExtGeometry geometry, ExtFeatures features) {
    this.blocks = blocks;
    this.perBlock = geometry.descriptorsPerBlock();
    this.size = geometry.descriptorSize;
    this.uninitAllowed = features.groupChecksums();
  }

  static ExtGroupTable read(Device device, ExtSuperblock superblock, ExtGeometry geometry)
      throws IOException {
    device.memory().take((long) geometry.descriptorBlocks() * (geometry.blockSize + BUFFER));
    long[] offsets = new long[geometry.descriptorBlocks()];
    for (int i = 0; i < offsets.length; i++) {
      offsets[i] = geometry.descriptorBlock(i) * geometry.blockSize;
      Refusal.require(
          i == 0 || offsets[i] > offsets[i - 1], "group descriptor blocks are out of order");
    }
    ByteBuffer[] blocks = device.readBlocks(offsets, geometry.blockSize, ByteOrder.LITTLE_ENDIAN);
    ExtGroupTable table = new ExtGroupTable(blocks, geometry, superblock.features());
    table.check(superblock, geometry.groups);
    return table;
  }

  private void check(ExtSuperblock superblock, int groups) {
    ExtFeatures features = superblock.features();
    int seed = features.metadataChecksums() ? superblock.checksumSeed() : 0;
    byte[] uuid = superblock.uuid();
    long freeInodes = 0;
    for (int group = 0; group < groups; group++) {
      boolean right = true;
      if (features.metadataChecksums()) {
        right = crc32c(group, seed) == storedChecksum(group);
      } else if (features.groupChecksums()) {
        right = crc16(group, uuid) == storedChecksum(group);
      }
      if (!right) {
        throw Refusal.checksum("the descriptor of group " + group);
      }
      int flags = u16(group, 0x12);
      Refusal.require(
          (flags & ~(uninitAllowed ? KNOWN_FLAGS : INODES_ZEROED)) == 0,
          "flags 0x" + Integer.toHexString(flags) + " of group " + group + " make no sense");
      freeInodes += u16(group, 0xE) | (size > 32 ? u16(group, 0x2E) << 16 : 0);
    }
    Refusal.require(
        freeInodes == superblock.freeInodes(),
        "the groups and the superblock count free inodes differently");
  }

  private int storedChecksum(int group) {
    return u16(group, CHECKSUM_AT);
  }

  private int crc32c(int group, int seed) {
    CRC32C crc = Checksums.crc32cFrom(seed);
    crc.update(littleEndian(group));
    ByteBuffer descriptor = descriptor(group);
    crc.update(descriptor.slice(0, CHECKSUM_AT));
    crc.update(new byte[2], 0, 2);
    crc.update(descriptor.slice(CHECKSUM_AT + 2, size - CHECKSUM_AT - 2));
    return Checksums.register(crc) & 0xffff;
  }

  private int crc16(int group, byte[] uuid) {
    int crc = Checksums.crc16(0xffff, ByteBuffer.wrap(uuid));
    crc = Checksums.crc16(crc, littleEndian(group));
    ByteBuffer descriptor = descriptor(group);
    crc = Checksums.crc16(crc, descriptor.slice(0, CHECKSUM_AT));
    return Checksums.crc16(crc, descriptor.slice(CHECKSUM_AT + 2, size - CHECKSUM_AT - 2));
  }

  private static ByteBuffer littleEndian(int value) {
    return ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, value);
  }

  long blockBitmap(int group) {
    return u64(group, 0x0, 0x20);
  }

  long inodeBitmap(int group) {
    return u64(group, 0x4, 0x24);
  }

  long inodeTable(int group) {
    return u64(group, 0x8, 0x28);
  }

  /** Free clusters of the group. */
  int freeClusters(int group) {
    return u16(group, 0xC) | (size > 32 ? u16(group, 0x2C) << 16 : 0);
  }

  /** Whether the bitmap was never written: nothing but metadata is used in the group. */
  boolean bitmapIsImplied(int group) {
    return (u16(group, 0x12) & BLOCK_UNINIT) != 0;
  }

  /**
   * Whether the stored checksum of the block bitmap is this; 16 bits of it in small descriptors.
   */
  boolean bitmapChecksumIs(int group, int checksum) {
    if (size > 32) {
      return (u16(group, 0x18) | (u16(group, 0x38) << 16)) == checksum;
    }
    return u16(group, 0x18) == (checksum & 0xffff);
  }

  private long u64(int group, int low, int high) {
    ByteBuffer descriptor = descriptor(group);
    long upper = size > 32 ? (long) descriptor.getInt(high) << 32 : 0;
    return (descriptor.getInt(low) & 0xffffffffL) | upper;
  }

  private int u16(int group, int at) {
    return blocks[group / perBlock].getShort(group % perBlock * size + at) & 0xffff;
  }

  private ByteBuffer descriptor(int group) {
    return blocks[group / perBlock]
        .slice(group % perBlock * size, size)
        .order(ByteOrder.LITTLE_ENDIAN);
  }
}
