package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/** Proves an ext2/3/4 file system clean and lists its free blocks. */
final class ExtReader {
  private static final int MMP_MAGIC = 0x004D4D50;
  private static final int MMP_CLEAN = 0xFF4D4D50;
  private static final int MMP_CHECKSUM_AT = 0x3FC;

  private ExtReader() {}

  /**
   * @throws Refusal if the file system is not clean, not known in all its parts, or inconsistent
   */
  static Inspection.Clean read(Device device, ExtSuperblock superblock) throws IOException {
    superblock.check();
    ExtFeatures features = superblock.features();
    ExtGeometry geometry = new ExtGeometry(superblock, device.size());
    if (features.incompat(ExtFeatures.INCOMPAT_MMP)) {
      checkMultipleMount(device, superblock, geometry);
    }
    ExtGroupTable table = ExtGroupTable.read(device, superblock, geometry);
    ExtFreeSpace space = new ExtFreeSpace(device, superblock, geometry, table);
    if (features.compat(ExtFeatures.COMPAT_HAS_JOURNAL)) {
      new ExtJournal(device, superblock, geometry).check(table.inodeTable(0));
    }
    RangePlan plan = space.collect();
    return new Inspection.Clean(
        features.kind(), geometry.blockSize, geometry.blocks * geometry.blockSize, plan);
  }

  private static void checkMultipleMount(
      Device device, ExtSuperblock superblock, ExtGeometry geometry) throws IOException {
    long block = superblock.multipleMountBlock();
    Refusal.require(
        block > geometry.firstDataBlock && block < geometry.blocks, "bad multiple-mount block");
    ByteBuffer bytes = device.read(block * geometry.blockSize, 1024, ByteOrder.LITTLE_ENDIAN);
    Refusal.require(bytes.getInt(0) == MMP_MAGIC, "the multiple-mount block has no magic number");
    if (superblock.features().metadataChecksums()) {
      CRC32C crc = Checksums.crc32cFrom(superblock.checksumSeed());
      crc.update(bytes.slice(0, MMP_CHECKSUM_AT));
      if (Checksums.register(crc) != bytes.getInt(MMP_CHECKSUM_AT)) {
        throw Refusal.checksum("the multiple-mount block");
      }
    }
    if (bytes.getInt(4) != MMP_CLEAN) {
      throw new Refusal(RefusalReason.IN_USE, "multiple-mount protection says: mounted or checked");
    }
  }
}
