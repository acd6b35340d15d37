package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The boot sector of FAT12, FAT16 or FAT32: geometry, and what it says of the state.
 *
 * <p>Which of the three it is follows from the number of clusters, and the form of the sector and
 * its type text have to say the same.
 */
final class FatBootSector {
  /** Bytes of the sector that are read; longer sectors have nothing behind. */
  static final int SIZE = 512;

  /** Most clusters of a file system, so that its table takes 32 MiB of memory. */
  static final int MOST_CLUSTERS = 8 << 20;

  private static final int MOST_OF_FAT12 = 4084;
  private static final int MOST_OF_FAT16 = 65524;
  private static final int EXTENDED = 0x29;
  private static final int DIRTY = 1;
  private static final int ERRORS = 2;

  /** 12, 16 or 32: bits of an entry of the table. */
  final int bits;

  final int sector;
  final int clusterSize;
  final int reserved;
  final int copies;
  final int rootEntries;
  final int media;
  final int clusters;

  /** Sectors of one copy of the table. */
  final long tableSectors;

  final long sectors;

  /** First cluster of the root directory; 0 unless FAT32. */
  final int rootCluster;

  /** Sector of the free counter; 0 unless FAT32. */
  final int infoSector;

  /** Sector of this sector's copy; 0 unless FAT32. */
  final int backupSector;

  private final ByteBuffer bytes;

  /**
   * @param start the first bytes of the device, little-endian
   * @throws Refusal if the sector makes no sense, or does not fit the device
   */
  FatBootSector(ByteBuffer start, long deviceSize) {
    bytes = start.slice(0, SIZE).order(ByteOrder.LITTLE_ENDIAN);
    Refusal.require(u16(510) == 0xAA55, "the boot sector has no end mark");
    Refusal.require(u8(0) == 0xEB || u8(0) == 0xE9, "the boot sector does not start with a jump");
    sector = u16(11);
    int perCluster = u8(13);
    Refusal.require(
        isPowerOfTwo(sector) && sector >= 512 && sector <= 4096 && isPowerOfTwo(perCluster),
        "the sizes of sector and cluster are not possible");
    clusterSize = sector * perCluster;
    reserved = u16(14);
    copies = u8(16);
    rootEntries = u16(17);
    media = u8(21);
    Refusal.require(reserved > 0 && (media == 0xF0 || media >= 0xF8), "bad fields in boot sector");
    if (copies < 1 || copies > 2) {
      throw Refusal.unsupported("the file allocation table has " + copies + " copies");
    }
    boolean large = u16(22) == 0;
    tableSectors = large ? u32(36) : u16(22);
    sectors = u16(19) != 0 ? u16(19) : u32(32);
    Refusal.require(
        u16(19) == 0 || u32(32) == 0 || u32(32) == sectors, "two sizes that do not agree");
    clusters = countClusters(perCluster);
    bits = large ? 32 : clusters <= MOST_OF_FAT12 ? 12 : 16;
    rootCluster = large ? (int) u32(44) : 0;
    infoSector = large ? u16(48) : 0;
    backupSector = large ? u16(50) : 0;
    checkType();
    if (sectors > deviceSize / sector) {
      throw new Refusal(
          RefusalReason.TRUNCATED,
          "a file system of " + totalBytes() + " bytes on a device of " + deviceSize);
    }
    checkState(u8(large ? 65 : 37));
  }

  private int countClusters(int perCluster) {
    Refusal.require((long) rootEntries * 32 % sector == 0, "a root directory of partial sectors");
    long data = sectors - dataSector();
    Refusal.require(tableSectors > 0 && data >= perCluster, "the tables do not fit the device");
    long count = data / perCluster;
    if (count > MOST_CLUSTERS) {
      throw Refusal.unsupported("FAT with more than " + MOST_CLUSTERS + " clusters");
    }
    return (int) count;
  }

  private void checkType() {
    Refusal.require(
        bits == 32 ? clusters > MOST_OF_FAT16 : clusters <= MOST_OF_FAT16,
        "the number of clusters is not that of FAT" + bits);
    Refusal.require(
        ((clusters + 2L) * bits + 7) / 8 <= tableSectors * sector,
        "the file allocation table is too short");
    if (u8(bits == 32 ? 66 : 38) != EXTENDED) {
      throw Refusal.unsupported("the boot sector is of an older form");
    }
    byte[] type = new byte[8];
    bytes.get(bits == 32 ? 82 : 54, type);
    Refusal.require(
        new String(type, StandardCharsets.ISO_8859_1).equals("FAT" + bits + "   "),
        "the type text does not say FAT" + bits);
    Refusal.require(bits == 32 ? rootEntries == 0 : rootEntries > 0, "a bad root directory");
    if (bits == 32) {
      checkLarge();
    }
  }

  private void checkLarge() {
    if (u16(40) != 0 || u16(42) != 0) {
      throw Refusal.unsupported("FAT32 without mirrored tables, or of another version");
    }
    Refusal.require(
        rootCluster >= 2 && rootCluster < clusters + 2, "the root directory is out of range");
    Refusal.require(
        infoSector > 0
            && backupSector > 0
            && infoSector != backupSector
            && infoSector < reserved
            && backupSector < reserved,
        "misplaced copy of the boot sector or free counter");
    for (int at = 52; at < 64; at++) {
      Refusal.require(bytes.get(at) == 0, "reserved bytes of the boot sector are set");
    }
  }

  private static void checkState(int state) {
    if ((state & ERRORS) != 0) {
      throw new Refusal(RefusalReason.HAS_ERRORS, "the boot sector says: to be checked");
    }
    if ((state & DIRTY) != 0) {
      throw new Refusal(RefusalReason.NOT_CLEAN, "the boot sector says: not unmounted");
    }
    if (state != 0) {
      throw Refusal.unsupported("unknown flags in the boot sector");
    }
  }

  /** Refuses unless the copy of the boot sector is the same. */
  void checkCopy(ByteBuffer copy) {
    Refusal.require(
        copy.slice(0, SIZE).mismatch(bytes) < 0, "the boot sector and its copy are not the same");
  }

  /** First sector of the root directory of FAT12 and FAT16. */
  long rootSector() {
    return reserved + copies * tableSectors;
  }

  /** First sector of cluster 2. */
  long dataSector() {
    return rootSector() + (long) rootEntries * 32 / sector;
  }

  /** Byte offset of a cluster. */
  long offsetOf(int cluster) {
    return dataSector() * sector + (cluster - 2L) * clusterSize;
  }

  long totalBytes() {
    return sectors * sector;
  }

  private static boolean isPowerOfTwo(int value) {
    return Integer.bitCount(value) == 1;
  }

  private int u8(int at) {
    return bytes.get(at) & 0xff;
  }

  private int u16(int at) {
    return bytes.getShort(at) & 0xffff;
  }

  private long u32(int at) {
    return bytes.getInt(at) & 0xffffffffL;
  }
}
