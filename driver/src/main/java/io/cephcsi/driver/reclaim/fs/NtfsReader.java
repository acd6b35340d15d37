package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Proves an NTFS volume clean and lists its free clusters.
 *
 * <p>NTFS has no checksums. So each cluster that $Bitmap calls free is compared with what all files
 * use: a changed bit cannot free one of them.
 */
final class NtfsReader {
  private NtfsReader() {}

  /**
   * @param start the first 8 KiB of the device or more
   * @throws Refusal if the volume is not clean, not known in all its parts, or inconsistent
   */
  static Inspection.Clean read(Device device, ByteBuffer start) throws IOException {
    NtfsBoot boot = NtfsBoot.read(device, start);
    NtfsWindows.checkShadowCopies(start);
    NtfsFiles files = new NtfsFiles(device, boot);
    long table = boot.tableCluster * boot.clusterSize;
    ByteBuffer first = device.read(table, boot.recordSize, ByteOrder.LITTLE_ENDIAN);
    NtfsBits used = new NtfsTable(device, boot, files).walk(first);
    files.check();
    RangePlan plan = new NtfsFreeSpace(files.bitmap, used, boot, device).collect();
    return new Inspection.Clean(
        FileSystemKind.NTFS, boot.clusterSize, boot.clusters * boot.clusterSize, plan);
  }
}
