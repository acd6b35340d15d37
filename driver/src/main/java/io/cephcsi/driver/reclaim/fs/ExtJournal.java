package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * Proves that the journal of an ext3 or ext4 file system is empty: its superblock names no start.
 *
 * <p>The flag needs_recovery says the same; this is a second witness that does not share a sector
 * with it.
 */
final class ExtJournal {
  private static final int INODE = 8;
  private static final int FLAG_EXTENTS = 0x80000;
  private static final int BLOCK_MAP_AT = 0x28;
  private static final short EXTENT_MAGIC = (short) 0xF30A;
  private static final int DEEPEST_EXTENTS = 5;
  private static final int JOURNAL_MAGIC = 0xC03B3998;

  private final Device device;
  private final ExtSuperblock superblock;
  private final ExtGeometry geometry;

  ExtJournal(Device device, ExtSuperblock superblock, ExtGeometry geometry) {
    this.device = device;
    this.superblock = superblock;
    this.geometry = geometry;
  }

  /**
   * @param inodeTable first block of group 0's inode table
   */
  void check(long inodeTable) throws IOException {
    if (superblock.journalInode() != INODE || superblock.inodesPerGroup() < INODE) {
      throw Refusal.unsupported("a journal that is not inode " + INODE);
    }
    int size = superblock.inodeSize();
    long at = inodeTable * geometry.blockSize + (long) (INODE - 1) * size;
    ByteBuffer inode = device.read(at, size, ByteOrder.LITTLE_ENDIAN);
    if (superblock.features().metadataChecksums()) {
      checkInodeChecksum(inode);
    }
    boolean extents = (inode.getInt(0x20) & FLAG_EXTENTS) != 0;
    long block =
        extents
            ? firstBlock(inode.slice(BLOCK_MAP_AT, 60).order(ByteOrder.LITTLE_ENDIAN))
            : inode.getInt(BLOCK_MAP_AT) & 0xffffffffL;
    Refusal.require(
        block > geometry.firstDataBlock && block < geometry.blocks, "the journal has no block");
    checkSuperblock(device.read(block * geometry.blockSize, 1024, ByteOrder.BIG_ENDIAN));
  }

  private void checkInodeChecksum(ByteBuffer inode) {
    ByteBuffer copy = ByteBuffer.allocate(inode.limit()).order(ByteOrder.LITTLE_ENDIAN);
    copy.put(0, inode, 0, inode.limit()).putShort(0x7C, (short) 0);
    int stored = inode.getShort(0x7C) & 0xffff;
    int mask = 0xffff;
    if (inode.limit() > 128 && inode.getShort(0x80) >= 4) {
      stored |= inode.getShort(0x82) << 16;
      mask = -1;
      copy.putShort(0x82, (short) 0);
    }
    CRC32C crc = Checksums.crc32cFrom(superblock.checksumSeed());
    ByteBuffer prefix = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
    crc.update(prefix.putInt(0, INODE).putInt(4, inode.getInt(0x64)));
    crc.update(copy);
    if ((Checksums.register(crc) & mask) != stored) {
      throw Refusal.checksum("the journal's inode");
    }
  }

  /** Follows the left edge of the extent tree to the first block of the file. */
  private long firstBlock(ByteBuffer root) throws IOException {
    ByteBuffer node = root;
    for (int level = 0; level <= DEEPEST_EXTENTS; level++) {
      Refusal.require(
          node.getShort(0) == EXTENT_MAGIC && node.getShort(2) > 0 && node.getInt(12) == 0,
          "the journal's extents are damaged");
      if (node.getShort(6) == 0) {
        return (node.getInt(20) & 0xffffffffL) | ((node.getShort(18) & 0xffffL) << 32);
      }
      long child = (node.getInt(16) & 0xffffffffL) | ((node.getShort(20) & 0xffffL) << 32);
      Refusal.require(child < geometry.blocks, "the journal's extents are damaged");
      node = device.read(child * geometry.blockSize, geometry.blockSize, ByteOrder.LITTLE_ENDIAN);
    }
    throw Refusal.inconsistent("the journal's extents are too deep");
  }

  private void checkSuperblock(ByteBuffer journal) {
    int type = journal.getInt(4);
    Refusal.require(
        journal.getInt(0) == JOURNAL_MAGIC
            && (type == 3 || type == 4)
            && journal.getInt(0xC) == geometry.blockSize,
        "the journal has no superblock");
    if (journal.getInt(0x1C) != 0) {
      throw new Refusal(RefusalReason.JOURNAL_NOT_EMPTY, "the journal has changes to replay");
    }
    if (journal.getInt(0x20) != 0) {
      throw new Refusal(RefusalReason.HAS_ERRORS, "the journal recorded an error");
    }
  }
}
