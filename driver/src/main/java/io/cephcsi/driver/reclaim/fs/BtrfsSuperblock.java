package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The superblock of btrfs, after its copies were compared. */
final class BtrfsSuperblock {
  /** Where the copies are, as far as the device reaches. */
  static final long[] COPIES = {64L << 10, 64L << 20, 256L << 30};

  static final int SIZE = 4096;
  static final int LEVELS = 8;

  private static final long MAGIC = 0x4D5F53665248425FL;
  private static final long WRITTEN = 1;
  private static final long ERROR = 1 << 2;
  private static final long SEEDING = 1L << 32;
  private static final int AFTER_BYTENR = 56;
  private static final int DEV_ITEM = 201;
  private static final int DEV_ITEM_SIZE = 98;
  private static final int SYSTEM_CHUNKS = 811;
  private static final int SYSTEM_CHUNKS_SIZE = 2048;

  private final BtrfsFields fields;
  private final BtrfsFeatures features;
  final BtrfsChecksum checksum;
  final long generation;
  final long totalBytes;
  final int sectorSize;
  final int nodeSize;

  private BtrfsSuperblock(BtrfsFields fields) {
    this.fields = fields;
    this.checksum = checksumOf(fields, 0);
    this.features = new BtrfsFeatures(fields);
    this.generation = fields.u64(72);
    this.totalBytes = fields.u64(112);
    this.sectorSize = (int) fields.u32(144);
    this.nodeSize = (int) fields.u32(148);
  }

  /** Reads and checks the superblock and all its copies. */
  static BtrfsSuperblock read(Device device) throws IOException {
    BtrfsSuperblock superblock = new BtrfsSuperblock(readCopy(device, 0));
    superblock.check(device.size());
    for (int copy = 1; copy < COPIES.length; copy++) {
      if (COPIES[copy] + SIZE < superblock.totalBytes) {
        superblock.checkCopy(copy, readCopy(device, copy));
      }
    }
    return superblock;
  }

  private static BtrfsFields readCopy(Device device, int copy) throws IOException {
    return new BtrfsFields(device.read(COPIES[copy], SIZE, ByteOrder.LITTLE_ENDIAN));
  }

  /** Checks what makes a superblock one, before anything in it is believed. */
  private static BtrfsChecksum checksumOf(BtrfsFields fields, int copy) {
    String which = copy == 0 ? "the superblock" : "copy " + copy + " of the superblock";
    Refusal.require(fields.u64(64) == MAGIC, which + " has no magic number");
    BtrfsChecksum checksum = BtrfsChecksum.of(fields.u16(196));
    if (!checksum.covers(fields)) {
      throw Refusal.checksum(which);
    }
    Refusal.require(fields.u64(48) == COPIES[copy], which + " belongs elsewhere");
    return checksum;
  }

  private void checkCopy(int copy, BtrfsFields other) {
    checksumOf(other, copy);
    if (other.u64(72) != generation) {
      throw new Refusal(
          RefusalReason.NOT_CLEAN, "copy " + copy + " of the superblock is of another generation");
    }
    Refusal.require(
        fields.same(BtrfsChecksum.FIELD, other, BtrfsFields.UUID_LENGTH)
            && fields.same(AFTER_BYTENR, other, SIZE - AFTER_BYTENR),
        "copy " + copy + " of the superblock differs");
  }

  private void check(long deviceSize) {
    checkFlags();
    features.check();
    if (fields.u64(136) != 1) {
      throw Refusal.unsupported("a file system of " + fields.u64(136) + " devices");
    }
    if (fields.u64(96) != 0 || fields.u8(200) != 0) {
      throw new Refusal(RefusalReason.JOURNAL_NOT_EMPTY, "there is a log tree to be replayed");
    }
    checkGeometry(deviceSize);
    Refusal.require(
        device(8) == totalBytes && deviceUuid(82).equals(metadataUuid()),
        "the superblock and its device item differ");
    Refusal.require(
        features.metadataUuid() || isZero(fields.uuid(571)) || fields.uuid(571).equals(fsid()),
        "a second UUID without its feature");
  }

  private void checkFlags() {
    long flags = fields.u64(56);
    if ((flags & ERROR) != 0) {
      throw new Refusal(RefusalReason.HAS_ERRORS, "the file system recorded an error");
    }
    if ((flags & SEEDING) != 0) {
      throw Refusal.unsupported("a seed device");
    }
    if (flags != WRITTEN) {
      throw Refusal.unsupported("superblock flags 0x" + Long.toHexString(flags));
    }
  }

  private void checkGeometry(long deviceSize) {
    Refusal.require(isPower(fields.u32(144), 4096, 65536), "bad sector size");
    Refusal.require(
        isPower(fields.u32(148), sectorSize, 65536) && fields.u32(152) == nodeSize,
        "bad node size");
    Refusal.require(
        totalBytes >= 1 << 20 && totalBytes % sectorSize == 0, "bad size of the file system");
    if (totalBytes > deviceSize) {
      throw new Refusal(
          RefusalReason.TRUNCATED,
          totalBytes + " bytes do not fit a device of " + deviceSize + " bytes");
    }
    Refusal.require(
        generation > 0 && bytesUsed() >= 0 && bytesUsed() <= totalBytes, "bad counters");
    Refusal.require(fields.u32(160) <= SYSTEM_CHUNKS_SIZE, "too many system chunks");
  }

  private static boolean isPower(long value, int least, int most) {
    return value >= least && value <= most && Long.bitCount(value) == 1;
  }

  private static boolean isZero(ByteBuffer uuid) {
    return uuid.equals(ByteBuffer.allocate(BtrfsFields.UUID_LENGTH));
  }

  BtrfsFeatures features() {
    return features;
  }

  private ByteBuffer fsid() {
    return fields.uuid(32);
  }

  /** The UUID that all tree blocks carry. */
  ByteBuffer metadataUuid() {
    return features.metadataUuid() ? fields.uuid(571) : fsid();
  }

  BtrfsTree.Root rootTree() {
    return new BtrfsTree.Root(1, fields.u64(80), fields.u8(198), generation);
  }

  BtrfsTree.Root chunkTree() {
    return new BtrfsTree.Root(3, fields.u64(88), fields.u8(199), fields.u64(164));
  }

  /** Bytes that extents use, each counted once whatever the profile. */
  long bytesUsed() {
    return fields.u64(120);
  }

  /** The keys and chunks that lead to the chunk tree. */
  BtrfsFields systemChunks() {
    return fields.part(SYSTEM_CHUNKS, (int) fields.u32(160));
  }

  /** The number of the only device. */
  long deviceId() {
    return device(0);
  }

  ByteBuffer deviceUuid() {
    return deviceUuid(66);
  }

  /** What the chunk tree must say of the device. */
  boolean isDevice(BtrfsFields item) {
    return item.length() == DEV_ITEM_SIZE
        && item.bytes().equals(fields.part(DEV_ITEM, DEV_ITEM_SIZE).bytes());
  }

  /** Bytes of the device that belong to chunks. */
  long allocatedBytes() {
    return device(16);
  }

  private long device(int at) {
    return fields.u64(DEV_ITEM + at);
  }

  private ByteBuffer deviceUuid(int at) {
    return fields.uuid(DEV_ITEM + at);
  }
}
