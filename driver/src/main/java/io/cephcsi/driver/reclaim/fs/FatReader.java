package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Proves a FAT12, FAT16 or FAT32 file system consistent and lists its free clusters.
 *
 * <p>FAT has no checksums. Instead all copies of the table have to be the same, and all directories
 * are walked: each file's chain has to be as long as its size says, and no cluster that one reaches
 * may be free. A cluster that is not free in the table is never listed, whoever has it. What lies
 * before cluster 2 (boot sector, tables, root directory of FAT12 and FAT16) is never listed either.
 *
 * <p>FAT12 and FAT16 have one boot sector alone, of which a single wrong bit can move all clusters.
 * A directory names its own cluster, and so proves where that lies; two of them prove size and
 * place of all.
 */
final class FatReader {
  private static final int LEAD = 0x41615252;
  private static final int MIDDLE = 0x61417272;
  private static final int TRAIL = 0xAA550000;
  private static final int UNKNOWN = -1;
  private static final int WITNESSES = 2;

  private FatReader() {}

  /**
   * @param start the first bytes of the device, little-endian
   * @throws Refusal if the file system is not clean, not known in all its parts, or inconsistent
   */
  static Inspection.Clean read(Device device, ByteBuffer start) throws IOException {
    FatBootSector boot = new FatBootSector(start, device.size());
    int counted = UNKNOWN;
    if (boot.bits == 32) {
      boot.checkCopy(readSector(device, boot, boot.backupSector));
      counted = readFreeCount(readSector(device, boot, boot.infoSector));
    }
    FatTable table = FatTable.read(device, boot);
    Refusal.require(
        counted == UNKNOWN || counted == table.freeClusters(),
        "the table has "
            + table.freeClusters()
            + " free clusters, the counter says "
            + Integer.toUnsignedString(counted));
    FatTree tree = new FatTree(device, boot, table);
    tree.walk();
    if (boot.bits != 32 && tree.directories() < WITNESSES) {
      throw Refusal.unsupported(
          "FAT" + boot.bits + " with fewer than two directories to prove where its clusters lie");
    }
    RangePlan plan = new RangePlan(device, boot.offsetOf(2), boot.clusterSize);
    table.collect(plan);
    return new Inspection.Clean(
        FileSystemKind.FAT, boot.clusterSize, boot.totalBytes(), plan.finish());
  }

  private static ByteBuffer readSector(Device device, FatBootSector boot, int sector)
      throws IOException {
    long offset = (long) sector * boot.sector;
    return device.read(offset, FatBootSector.SIZE, ByteOrder.LITTLE_ENDIAN);
  }

  private static int readFreeCount(ByteBuffer info) {
    Refusal.require(
        info.getInt(0) == LEAD && info.getInt(484) == MIDDLE && info.getInt(508) == TRAIL,
        "the sector of the free counter has no signature");
    return info.getInt(488);
  }
}
