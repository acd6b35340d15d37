package io.cephcsi.driver.reclaim.fs;

/** The file system under inspection: device, superblock, and the newest change seen so far. */
final class XfsVolume {
  /** Written by tools that do not use the log. */
  private static final long NO_POSITION = -1;

  final Device device;
  final XfsSuperblock superblock;
  private long newestChange;

  XfsVolume(Device device, XfsSuperblock superblock) {
    this.device = device;
    this.superblock = superblock;
    if (superblock.features().v5()) {
      noteChange(superblock.logPosition());
    }
  }

  /** The byte on the device where a block of an allocation group starts. */
  long offset(int group, int block) {
    return ((long) group * superblock.groupBlocks + block) * superblock.blockSize;
  }

  /** Notes the log position that a piece of metadata carries: its last change. */
  void noteChange(long position) {
    if (position != NO_POSITION && Long.compareUnsigned(position, newestChange) > 0) {
      newestChange = position;
    }
  }

  /**
   * The newest log position of all metadata read so far: cycle in the upper half, block in the
   * lower. A log that ends before it is not the log that wrote this metadata.
   */
  long newestChange() {
    return newestChange;
  }
}
