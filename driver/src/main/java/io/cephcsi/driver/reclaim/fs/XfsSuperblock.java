package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** The primary superblock of XFS: the first sector, big-endian. */
final class XfsSuperblock {
  private static final int MAGIC = 0x58465342;
  private static final int CHECKSUM_AT = 224;
  private static final long LARGEST_GROUP = 1L << 40;

  private final XfsFields fields;
  private final XfsFeatures features;
  final int blockSize;
  final int sectorSize;
  final long blocks;
  final int groupBlocks;
  final int groups;

  /**
   * @param start the first 32 KiB of the file system or more
   * @param deviceSize in bytes
   */
  XfsSuperblock(ByteBuffer start, long deviceSize) {
    XfsFields head = new XfsFields(start);
    Refusal.require(head.u32(0) == MAGIC, "the superblock has no magic number");
    this.sectorSize = head.u16(102);
    Refusal.require(
        isPower(sectorSize, 512, 32768) && head.u8(121) == log2(sectorSize), "bad sector size");
    this.fields = head.part(0, sectorSize);
    this.features = new XfsFeatures(fields);
    if (features.v5() && !fields.checksumAt(CHECKSUM_AT)) {
      throw Refusal.checksum("the superblock");
    }
    features.check();
    this.blockSize = fields.u32(4);
    this.blocks = fields.u64(8);
    this.groupBlocks = fields.u32(84);
    this.groups = fields.u32(88);
    checkState();
    checkGeometry(deviceSize);
  }

  static boolean looksLikeOne(ByteBuffer start) {
    return new XfsFields(start).u32(0) == MAGIC;
  }

  private void checkState() {
    if (fields.u8(126) != 0) {
      throw new Refusal(RefusalReason.NOT_CLEAN, "mkfs or growfs has not finished");
    }
    if (fields.u8(178) != 0 || fields.u8(179) != 0) {
      throw Refusal.unsupported("the file system is marked read-only or shared");
    }
    if (fields.u64(16) != 0 || fields.u64(24) != 0) {
      throw Refusal.unsupported("a realtime device");
    }
    if (logStart() == 0) {
      throw new Refusal(RefusalReason.EXTERNAL_JOURNAL, "the log is on another device");
    }
  }

  private void checkGeometry(long deviceSize) {
    Refusal.require(
        isPower(blockSize, 512, 65536)
            && fields.u8(120) == log2(blockSize)
            && sectorSize <= blockSize,
        "bad block size");
    int inodeSize = fields.u16(104);
    Refusal.require(
        isPower(inodeSize, 256, 2048)
            && fields.u8(122) == log2(inodeSize)
            && fields.u16(106) == blockSize / inodeSize
            && fields.u8(123) == log2(blockSize) - log2(inodeSize),
        "bad inode size");
    Refusal.require(
        groupBlocks >= 64
            && (long) groupBlocks * blockSize <= LARGEST_GROUP
            && fields.u8(124) == 32 - Integer.numberOfLeadingZeros(groupBlocks - 1),
        "bad size of allocation groups");
    Refusal.require(
        groups > 0
            && blocks > (long) (groups - 1) * groupBlocks
            && blocks <= (long) groups * groupBlocks,
        "blocks and allocation groups do not fit");
    if (blocks > deviceSize / blockSize) {
      throw new Refusal(
          RefusalReason.TRUNCATED,
          blocks + " blocks of " + blockSize + " do not fit a device of " + deviceSize + " bytes");
    }
  }

  private static boolean isPower(int value, int least, int most) {
    return value >= least && value <= most && Integer.bitCount(value) == 1;
  }

  private static int log2(int power) {
    return Integer.numberOfTrailingZeros(power);
  }

  XfsFeatures features() {
    return features;
  }

  /** Blocks in an allocation group; the last may be short. */
  int length(int group) {
    return (int) Math.min(groupBlocks, blocks - (long) group * groupBlocks);
  }

  /** The UUID that log records carry. */
  byte[] uuid() {
    return fields.uuid(32);
  }

  /** Whether a piece of version 5 metadata belongs to this file system. */
  boolean owns(byte[] uuid) {
    return Arrays.equals(uuid, fields.uuid(features.metaUuid() ? 248 : 32));
  }

  private long logStart() {
    return fields.u64(48);
  }

  int logGroup() {
    long group = logStart() >>> fields.u8(124);
    Refusal.require(group < groups, "the log is in no allocation group");
    return (int) group;
  }

  /** The first block of the log, counted in its allocation group. */
  int logBlock() {
    return (int) (logStart() & ((1L << fields.u8(124)) - 1));
  }

  int logBlocks() {
    int length = fields.u32(96);
    Refusal.require(
        length > 0 && (long) logBlock() + length <= length(logGroup()),
        "the log does not fit its allocation group");
    return length;
  }

  long freeBlocks() {
    return fields.u64(144);
  }

  long inodes() {
    return fields.u64(128);
  }

  long freeInodes() {
    return fields.u64(136);
  }

  /** Where the superblock was last logged, version 5 only. */
  long logPosition() {
    return fields.u64(240);
  }
}
