package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Recognises formats that no reader knows, and that leave alone the places where the superblocks of
 * the known ones are: what was there before them still looks like a clean file system, and has all
 * of their files as free. Each sign is long enough, or confirmed by another, so that data of a file
 * that lie there by chance are not taken for one.
 */
final class OtherFormats {
  private static final int UFS_SECTOR = (256 << 10) + 1024;
  private static final int UFS_MAGIC = 1372 - 1024;
  private static final int VMFS_SECTOR = 1 << 20;
  private static final int VMFS = 0xC001D00D;
  private static final int SECTOR = 512;
  private static final int DISK_LABEL = 0x82564557;
  private static final int[] DISK_LABELS = {0, 64, 128, 512};

  private static final List<Magic> MAGICS =
      List.of(
          new Magic(0, "OracleCFS"),
          new Magic(3, "ReFS\0\0\0\0"),
          new Magic(3, "-FVE-FS-"),
          new Magic(32, "NXSB"),
          new Magic(0x400, "OCFSV2"),
          new Magic(0x800, "OCFSV2"),
          new Magic(0x1000, "OCFSV2"),
          new Magic(0x2000, "OCFSV2"),
          new Magic(0x1000, "SPACEDB "),
          new Magic(0x2034, "ReIsEr"),
          new Magic(0x10034, "ReIsEr"),
          new Magic(0x10000, "ReIsEr4"),
          new Magic(0x8000, "JFS1"),
          new Magic(0x8001, "BEA01"),
          new Magic(0x8801, "NSR0"),
          new Magic(0x9001, "NSR0"),
          // GFS2: with the type of its superblock.
          new Magic(0x10000, "\u0001\u0016\u0019p\0\0\0\u0001"),
          // VxFS, of both byte orders.
          new Magic(0x2000, "\u00f5\u00fc\u0001\u00a5"),
          new Magic(0x2000, "\u00a5\u0001\u00fc\u00f5"),
          new Magic(0x400, "\u00f5\u00fc\u0001\u00a5"));

  /** A text (one character for each byte) at a place. */
  private record Magic(int at, String text) {}

  private OtherFormats() {}

  /** Places behind the start of a device that are to be read as well. */
  static List<BlockReader.Request> further(Device device) {
    List<BlockReader.Request> places = new ArrayList<>();
    for (int at : new int[] {UFS_SECTOR, VMFS_SECTOR}) {
      if (at + SECTOR <= device.size()) {
        places.add(new BlockReader.Request(at, ByteBuffer.allocate(SECTOR)));
      }
    }
    return places;
  }

  /**
   * Whether one of them is there.
   *
   * @param start the first 128 KiB, little-endian, padded with zeros
   * @param further what was read of {@link #further}
   */
  static boolean areThere(ByteBuffer start, List<BlockReader.Request> further) {
    for (Magic magic : MAGICS) {
      if (has(start, magic.at, magic.text)) {
        return true;
      }
    }
    boolean there = hasZfsLabel(start) || hasDiskLabel(start) || hasSunLabel(start);
    there |= hasApple(start);
    there |= isUfs(start, 1372) || isUfs(start, (8 << 10) + 1372) || isUfs(start, 0x10000 + 1372);
    for (BlockReader.Request place : further) {
      ByteBuffer sector = place.into().duplicate().order(ByteOrder.LITTLE_ENDIAN);
      there |= place.offset() == UFS_SECTOR && isUfs(sector, UFS_MAGIC);
      there |= place.offset() == VMFS_SECTOR && sector.getInt(0) == VMFS;
    }
    return there;
  }

  private static boolean isUfs(ByteBuffer bytes, int at) {
    int magic = bytes.getInt(at);
    return isUfs(magic) || isUfs(Integer.reverseBytes(magic));
  }

  private static boolean isUfs(int magic) {
    return magic == 0x00011954 || magic == 0x19540119;
  }

  /** A label of ZFS begins its list of names and values 16 KiB from the start of the device. */
  private static boolean hasZfsLabel(ByteBuffer start) {
    byte[] part = new byte[256];
    start.get(16 << 10, part);
    String text = new String(part, StandardCharsets.ISO_8859_1);
    return text.contains("version") && text.contains("name");
  }

  /** That of BSD carries its number twice. */
  private static boolean hasDiskLabel(ByteBuffer start) {
    for (int at : DISK_LABELS) {
      int magic = start.getInt(at);
      if (magic == start.getInt(at + 132)
          && (magic == DISK_LABEL || magic == Integer.reverseBytes(DISK_LABEL))) {
        return true;
      }
    }
    return false;
  }

  /** The number at the end of the sector, and words whose exclusive or is 0. */
  private static boolean hasSunLabel(ByteBuffer start) {
    int sum = 0;
    for (int at = 0; at < SECTOR; at += 2) {
      sum ^= start.getShort(at);
    }
    return has(start, 508, "\u00da\u00be") && (sum & 0xffff) == 0;
  }

  /** A partition map, or HFS+ with a size of blocks that it can have. */
  private static boolean hasApple(ByteBuffer start) {
    int blockSize = Integer.reverseBytes(start.getInt(1024 + 40));
    boolean hfs = has(start, 1024, "H+\0\u0004") || has(start, 1024, "HX\0\u0005");
    return (has(start, 0, "ER") && has(start, 512, "PM\0\0"))
        || (hfs && blockSize >= SECTOR && Integer.bitCount(blockSize) == 1);
  }

  private static boolean has(ByteBuffer bytes, int at, String text) {
    return bytes
            .slice(at, text.length())
            .mismatch(ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1)))
        < 0;
  }
}
