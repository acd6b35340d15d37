package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;

/**
 * Proves a btrfs on a single device consistent and lists what its last committed state leaves free.
 */
final class BtrfsReader {
  private BtrfsReader() {}

  /**
   * @throws Refusal if the file system is not clean, not known in all its parts, or inconsistent
   */
  static Inspection.Clean read(Device device) throws IOException {
    BtrfsVolume volume = BtrfsVolume.open(device);
    BtrfsRoots roots = BtrfsRoots.read(volume);
    BtrfsDeviceExtents extents = BtrfsDeviceExtents.read(volume, roots.deviceTree());
    BtrfsGroups groups = BtrfsExtentTree.read(volume, roots.extentTree());
    BtrfsTree.Root freeSpace = roots.freeSpaceTree();
    if (freeSpace != null) {
      BtrfsFreeSpaceTree.compare(volume, freeSpace, groups);
    }
    groups.checkUsed(volume.blocks(), volume.superblock.nodeSize);
    BtrfsSuperblock superblock = volume.superblock;
    RangePlan plan = new BtrfsFreeSpace(volume, extents, groups).plan();
    return new Inspection.Clean(
        FileSystemKind.BTRFS, superblock.sectorSize, superblock.totalBytes, plan);
  }
}
