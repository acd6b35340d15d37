package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;

/** Proves an XFS file system clean and lists its free blocks. */
final class XfsReader {
  private XfsReader() {}

  /**
   * @param start the first 32 KiB of the device or more
   * @throws Refusal if the file system is not clean, not known in all its parts, or inconsistent
   */
  static Inspection.Clean read(Device device, ByteBuffer start) throws IOException {
    XfsSuperblock superblock = new XfsSuperblock(start, device.size());
    XfsVolume volume = new XfsVolume(device, superblock);
    long unmount = new XfsLog(volume).provePositionOfUnmount();
    RangePlan plan = new XfsFreeSpace(volume).collect();
    Refusal.require(
        Long.compareUnsigned(volume.newestChange(), unmount) <= 0,
        "metadata is newer than the end of the log");
    return new Inspection.Clean(
        FileSystemKind.XFS, superblock.blockSize, superblock.blocks * superblock.blockSize, plan);
  }
}
