package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/** The superblock of ext2/3/4: 1024 bytes at byte 1024, little-endian. */
final class ExtSuperblock {
  static final int OFFSET = 1024;
  static final int SIZE = 1024;
  private static final short MAGIC = (short) 0xEF53;
  private static final int MAGIC_AT = 0x38;
  private static final int CHECKSUM_AT = 0x3FC;
  private static final int STATE_VALID = 1;
  private static final int STATE_ERRORS = 2;
  private static final int CRC32C_TYPE = 1;

  private final ByteBuffer bytes;
  private final ExtFeatures features;

  /**
   * @param bytes {@link #SIZE} bytes, little-endian
   */
  ExtSuperblock(ByteBuffer bytes) {
    this.bytes = bytes;
    this.features = new ExtFeatures(u32(0x5C), u32(0x60), u32(0x64));
  }

  /** Whether the bytes carry the magic number at all. */
  static boolean looksLikeOne(ByteBuffer bytes) {
    return bytes.getShort(MAGIC_AT) == MAGIC;
  }

  /** Checksum, state, features and everything that can be judged without other blocks. */
  void check() {
    Refusal.require(looksLikeOne(bytes), "the superblock has no magic number");
    if (features.metadataChecksums()) {
      checkChecksum();
    }
    int revision = u32(0x4C);
    if ((revision != 0 && revision != 1) || (revision == 0 && !features.none())) {
      throw Refusal.unsupported("revision " + revision);
    }
    features.check();
    checkState();
    if (u32(0x48) != 0) {
      throw Refusal.unsupported("made by another system than Linux (creator " + u32(0x48) + ")");
    }
    boolean journal = features.compat(ExtFeatures.COMPAT_HAS_JOURNAL);
    if (journal && (u32(0xE4) != 0 || journalInode() == 0)) {
      throw new Refusal(RefusalReason.EXTERNAL_JOURNAL, "the journal is on another device");
    }
  }

  private void checkChecksum() {
    if (u8(0x175) != CRC32C_TYPE) {
      throw Refusal.unsupported("checksum type " + u8(0x175));
    }
    CRC32C crc = new CRC32C();
    crc.update(bytes.slice(0, CHECKSUM_AT));
    if (Checksums.register(crc) != u32(CHECKSUM_AT)) {
      throw Refusal.checksum("the superblock");
    }
  }

  private void checkState() {
    int state = u16(0x3A);
    boolean errors = (state & STATE_ERRORS) != 0;
    if ((state & STATE_VALID) == 0 || (!errors && state != STATE_VALID)) {
      throw new Refusal(RefusalReason.NOT_CLEAN, "not cleanly unmounted (state " + state + ")");
    }
    if (errors || u32(0x194) != 0) {
      throw new Refusal(RefusalReason.HAS_ERRORS, "errors are recorded: e2fsck must run first");
    }
    if (u32(0xE8) != 0) {
      throw new Refusal(RefusalReason.ORPHANS, "the list of orphan inodes is not empty");
    }
  }

  ExtFeatures features() {
    return features;
  }

  /** log2 of the block size less 10, as stored. */
  int logBlockSize() {
    return u32(0x18);
  }

  /** log2 of the cluster size less 10, as stored. */
  int logClusterSize() {
    return u32(0x1C);
  }

  long blocks() {
    return (u32(0x4) & 0xffffffffL) | ((long) u32(0x150) << 32);
  }

  long freeBlocks() {
    return (u32(0xC) & 0xffffffffL) | ((long) u32(0x158) << 32);
  }

  /** The upper halves of the block counts, which must be 0 without 64bit. */
  boolean hasUpperHalves() {
    return (u32(0x150) | u32(0x154) | u32(0x158)) != 0;
  }

  long inodes() {
    return u32(0) & 0xffffffffL;
  }

  long freeInodes() {
    return u32(0x10) & 0xffffffffL;
  }

  int firstDataBlock() {
    return u32(0x14);
  }

  int blocksPerGroup() {
    return u32(0x20);
  }

  int clustersPerGroup() {
    return u32(0x24);
  }

  int inodesPerGroup() {
    return u32(0x28);
  }

  int inodeSize() {
    return u32(0x4C) == 0 ? 128 : u16(0x58);
  }

  int reservedDescriptorBlocks() {
    return u16(0xCE);
  }

  int journalInode() {
    return u32(0xE0);
  }

  int descriptorSize() {
    return features.incompat(ExtFeatures.INCOMPAT_64BIT) ? u16(0xFE) : 32;
  }

  int firstMetaGroup() {
    return u32(0x104);
  }

  long multipleMountBlock() {
    return bytes.getLong(0x168);
  }

  /** The two groups with backups under sparse_super2; 0 for none. */
  int backupGroup(int which) {
    return u32(0x24C + 4 * which);
  }

  byte[] uuid() {
    byte[] uuid = new byte[16];
    bytes.get(0x68, uuid);
    return uuid;
  }

  /** The CRC-32C register from which all other metadata checksums start. */
  int checksumSeed() {
    if (features.incompat(ExtFeatures.INCOMPAT_CSUM_SEED)) {
      return u32(0x270);
    }
    CRC32C crc = new CRC32C();
    crc.update(uuid());
    return Checksums.register(crc);
  }

  private int u8(int at) {
    return bytes.get(at) & 0xff;
  }

  private int u16(int at) {
    return bytes.getShort(at) & 0xffff;
  }

  private int u32(int at) {
    return bytes.getInt(at);
  }
}
