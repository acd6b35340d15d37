package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Proves an exFAT file system clean and lists its free clusters.
 *
 * <p>Free is what the allocation bitmap says; it has no checksum. Therefore all directories are
 * walked, and a cluster of a file that the bitmap has free is a reason to refuse. The percentage in
 * the boot sector proves nothing: Linux does not keep it.
 */
final class ExfatReader {
  private ExfatReader() {}

  /**
   * @param start the first 48 KiB of the device or more, little-endian
   * @throws Refusal if the file system is not clean, not known in all its parts, or inconsistent
   */
  static Inspection.Clean read(Device device, ByteBuffer start) throws IOException {
    ExfatBootRegion boot = new ExfatBootRegion(device, start);
    ExfatClusters clusters = new ExfatClusters(device, boot);
    ExfatClusters.Allocation bitmap = new ExfatTree(boot, clusters).walk();
    RangePlan plan = new RangePlan(device, boot.heap, 1 << boot.clusterShift);
    clusters.collect(bitmap, plan);
    return new Inspection.Clean(
        FileSystemKind.EXFAT, 1 << boot.clusterShift, boot.totalBytes, plan.finish());
  }
}
