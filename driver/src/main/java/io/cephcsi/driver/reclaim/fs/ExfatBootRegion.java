package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The boot region of exFAT: geometry, and what it says of the state. */
final class ExfatBootRegion {
  /** Most clusters of a file system, so that a bit for each takes 8 MiB of memory. */
  static final int MOST_CLUSTERS = 64 << 20;

  private static final int SECTORS = 12;
  private static final int FLAGS = 106;
  private static final int PERCENT = 112;
  private static final int EXTENDED_END = 0xAA550000;
  private static final int SECOND_TABLE = 1;
  private static final int DIRTY = 2;
  private static final int MEDIA_FAILURE = 4;

  final int clusterShift;
  final int clusters;
  final int rootCluster;

  /** Byte offset of the file allocation table. */
  final long table;

  /** Byte offset of cluster 2. */
  final long heap;

  final long totalBytes;

  private final ByteBuffer bytes;

  /**
   * @param start the first bytes of the device, little-endian
   * @throws Refusal if the region or its copy is damaged, or the file system is not clean
   */
  ExfatBootRegion(Device device, ByteBuffer start) throws IOException {
    int sectorShift = start.get(108);
    Refusal.require(sectorShift >= 9 && sectorShift <= 12, "a bad size of sectors");
    int length = SECTORS << sectorShift;
    bytes = start.slice(0, length).order(ByteOrder.LITTLE_ENDIAN);
    checkSum(bytes, 1 << sectorShift);
    ByteBuffer copy = device.read(length, length, ByteOrder.LITTLE_ENDIAN);
    // These two may be stale in the copy; the checksum leaves them out for the same reason.
    copy.putShort(FLAGS, bytes.getShort(FLAGS)).put(PERCENT, bytes.get(PERCENT));
    Refusal.require(bytes.mismatch(copy) < 0, "the boot region and its copy are not the same");
    checkForm(1 << sectorShift);
    checkState();
    clusterShift = sectorShift + bytes.get(109);
    Refusal.require(
        bytes.get(109) >= 0 && clusterShift <= 25 && clusterShift >= sectorShift,
        "a bad size of clusters");
    long sectors = bytes.getLong(72);
    Refusal.require(sectors > 0, "a bad size of the volume");
    if (sectors > device.size() >> sectorShift) {
      throw new Refusal(
          RefusalReason.TRUNCATED,
          "a file system of " + sectors + " sectors on a device of " + device.size() + " bytes");
    }
    totalBytes = sectors << sectorShift;
    table = u32(80) << sectorShift;
    long tableLength = u32(84) << sectorShift;
    heap = u32(88) << sectorShift;
    long count = u32(92);
    if (count > MOST_CLUSTERS) {
      throw Refusal.unsupported("exFAT with more than " + MOST_CLUSTERS + " clusters");
    }
    clusters = (int) count;
    Refusal.require(
        table >= 2L * length
            && tableLength >= 4 * (count + 2)
            && heap >= table + tableLength
            && heap < totalBytes
            && count > 0
            && count << clusterShift <= totalBytes - heap,
        "table and clusters do not fit the volume");
    long root = u32(96);
    Refusal.require(root >= 2 && root < count + 2, "the root directory is out of range");
    rootCluster = (int) root;
  }

  private static void checkSum(ByteBuffer bytes, int sector) {
    int sum = 0;
    for (int i = 0; i < (SECTORS - 1) * sector; i++) {
      if (i != FLAGS && i != FLAGS + 1 && i != PERCENT) {
        sum = Integer.rotateRight(sum, 1) + (bytes.get(i) & 0xff);
      }
    }
    for (int at = (SECTORS - 1) * sector; at < bytes.limit(); at += 4) {
      if (bytes.getInt(at) != sum) {
        throw Refusal.checksum("the boot region");
      }
    }
  }

  private void checkForm(int sector) {
    boolean right = bytes.getShort(510) == (short) 0xAA55;
    right &= (bytes.get(0) & 0xff) == 0xEB && bytes.get(1) == 0x76 && (bytes.get(2) & 0xff) == 0x90;
    for (int i = 11; i < 64; i++) {
      right &= bytes.get(i) == 0;
    }
    for (int i = 1; i <= 8; i++) {
      right &= bytes.getInt((i + 1) * sector - 4) == EXTENDED_END;
    }
    int percent = bytes.get(PERCENT) & 0xff;
    Refusal.require(right && (percent <= 100 || percent == 0xff), "the boot region is not one");
    if (bytes.getShort(104) != 0x100) {
      throw Refusal.unsupported("exFAT of another version than 1.00");
    }
    if (bytes.get(110) != 1) {
      throw Refusal.unsupported("exFAT with two tables");
    }
  }

  private void checkState() {
    int flags = bytes.getShort(FLAGS) & 0xffff;
    if ((flags & MEDIA_FAILURE) != 0) {
      throw new Refusal(RefusalReason.HAS_ERRORS, "the boot sector says that the media failed");
    }
    if ((flags & DIRTY) != 0) {
      throw new Refusal(RefusalReason.NOT_CLEAN, "the boot sector says: not unmounted");
    }
    if ((flags & SECOND_TABLE) != 0 || flags != 0) {
      throw Refusal.unsupported("unknown flags in the boot sector");
    }
  }

  /** Byte offset of a cluster. */
  long offsetOf(int cluster) {
    return heap + ((cluster - 2L) << clusterShift);
  }

  /** How many clusters a length in bytes takes; the length must fit the volume. */
  int clustersOf(long length) {
    Refusal.require(length > 0 && length <= (long) clusters << clusterShift, "a file is too long");
    return (int) (((length - 1) >> clusterShift) + 1);
  }

  private long u32(int at) {
    return bytes.getInt(at) & 0xffffffffL;
  }
}
