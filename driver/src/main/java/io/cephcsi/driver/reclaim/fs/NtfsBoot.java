package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The boot sector of NTFS: sizes, and where the file table lies. */
final class NtfsBoot {
  private static final int MOST_CLUSTER_SIZE = 2 << 20;
  private static final long MOST_CLUSTERS = 1L << 32;

  /** Serial number and checksum end here; what follows is a program. */
  private static final int PARAMETERS_END = 0x54;

  final int clusterSize;
  final int recordSize;
  final long clusters;
  final long tableCluster;
  final long mirrorCluster;

  private NtfsBoot(ByteBuffer sector, int sectorSize, long sectors) {
    int raw = sector.get(0x0D) & 0xff;
    long perCluster = raw <= 0x80 ? raw : 1L << Math.min(256 - raw, 32);
    check(Long.bitCount(perCluster) == 1, "the cluster size is not a power of 2");
    if (perCluster * sectorSize > MOST_CLUSTER_SIZE) {
      throw Refusal.unsupported("clusters of " + perCluster * sectorSize + " bytes");
    }
    clusterSize = (int) (perCluster * sectorSize);
    recordSize = recordSize(sector.get(0x40), clusterSize);
    clusters = sectors / perCluster;
    if (clusters > MOST_CLUSTERS) {
      throw Refusal.unsupported(clusters + " clusters");
    }
    tableCluster = cluster(sector.getLong(0x30), clusters);
    mirrorCluster = cluster(sector.getLong(0x38), clusters);
    check(tableCluster != mirrorCluster, "$MFT and $MFTMirr are at one cluster");
  }

  /**
   * Reads the boot sector and compares it with the copy that lies behind the volume.
   *
   * @param start the first sectors of the device
   */
  static NtfsBoot read(Device device, ByteBuffer start) throws IOException {
    int sectorSize = start.getShort(0x0B) & 0xffff;
    if (sectorSize < 512 || sectorSize > 4096 || Integer.bitCount(sectorSize) != 1) {
      throw Refusal.unsupported("sectors of " + sectorSize + " bytes");
    }
    check((start.getShort(510) & 0xffff) == 0xAA55, "the boot sector has no end mark");
    check(
        start.getShort(0x0E) == 0
            && start.get(0x10) == 0
            && start.getInt(0x11) == 0
            && start.getShort(0x16) == 0
            && start.getInt(0x20) == 0,
        "fields that belong to FAT are not 0");
    long sectors = start.getLong(0x28);
    check(sectors > 0, "the number of sectors is wrong");
    if (sectors >= device.size() / sectorSize) {
      throw new Refusal(
          RefusalReason.TRUNCATED,
          "the file system has " + sectors + " sectors, the device is smaller");
    }
    NtfsBoot boot = new NtfsBoot(start, sectorSize, sectors);
    long last = device.size() / sectorSize - 1;
    // ntfsresize puts it into the last sector of the device, mkntfs and Windows behind the volume.
    boolean behind = isCopy(device, start, sectors * sectorSize, sectorSize);
    boolean atEnd = isCopy(device, start, last * sectorSize, sectorSize);
    check(behind || atEnd, "the boot sector has no copy");
    return boot;
  }

  /** Whether a sector holds a copy of the boot sector; refuses one that differs. */
  private static boolean isCopy(Device device, ByteBuffer start, long at, int length)
      throws IOException {
    ByteBuffer copy = device.read(at, length, ByteOrder.LITTLE_ENDIAN);
    if (!copy.slice(3, 8).equals(start.slice(3, 8))) {
      return false;
    }
    check(
        start.slice(0, PARAMETERS_END).equals(copy.slice(0, PARAMETERS_END))
            && copy.getShort(510) == start.getShort(510),
        "the boot sector and its copy differ");
    return true;
  }

  private static int recordSize(int raw, int clusterSize) {
    long size = raw > 0 ? (long) raw * clusterSize : raw < -31 ? 0 : 1L << -raw;
    if (size < 1024 || size > 4096 || Long.bitCount(size) != 1) {
      throw Refusal.unsupported("file records of " + size + " bytes");
    }
    return (int) size;
  }

  private static long cluster(long cluster, long clusters) {
    check(cluster > 0 && cluster < clusters, "the file table lies outside of the volume");
    return cluster;
  }

  private static void check(boolean holds, String otherwise) {
    Refusal.require(holds, otherwise);
  }
}
