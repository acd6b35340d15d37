package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Recognises what a device holds by magic numbers at its start and its end. */
final class Signatures {
  /** Bytes at the start of a device that are looked at. */
  static final int START = 128 << 10;

  private static final int END = 128 << 10;
  private static final int MD_MAGIC = 0xA92B4EFC;
  private static final int[] LVM_SECTORS = {0, 512, 1024, 1536};

  private final ByteBuffer start;
  private final Set<FileSystemKind> found = EnumSet.noneOf(FileSystemKind.class);

  private Signatures(ByteBuffer start) {
    this.start = start;
  }

  /**
   * Returns all kinds whose signature is there; EXT4 stands for the whole family.
   *
   * @param start the first bytes, little-endian, padded with zeros to {@link #START}
   */
  static Set<FileSystemKind> find(Device device, ByteBuffer start) throws IOException {
    Signatures signatures = new Signatures(start);
    signatures.findReadable(device.size());
    signatures.findOthers();
    signatures.findFurther(device);
    return signatures.found;
  }

  private void findReadable(long size) {
    note(
        FileSystemKind.EXT4,
        ExtSuperblock.looksLikeOne(start.slice(1024, 1024).order(ByteOrder.LITTLE_ENDIAN)));
    note(FileSystemKind.XFS, XfsSuperblock.looksLikeOne(start));
    boolean gpt = GuidPartitionTable.looksLikeOne(start);
    note(FileSystemKind.GPT, gpt);
    note(FileSystemKind.MBR, !gpt && hasPartitionRecords(size));
    note(FileSystemKind.LUKS, has(0, "LUKS\u00ba\u00be") || has(0, "SKUL\u00ba\u00be"));
  }

  private void findOthers() {
    for (int at : LVM_SECTORS) {
      note(FileSystemKind.LVM2, has(at, "LABELONE") && has(at + 24, "LVM2 001"));
    }
    note(FileSystemKind.SWAP, SwapReader.looksLikeOne(start));
    note(FileSystemKind.BTRFS, has(0x10040, "_BHRfS_M"));
    note(FileSystemKind.F2FS, start.getInt(1024) == 0xF2F52010);
    note(FileSystemKind.EROFS, start.getInt(1024) == 0xE0F5E1E2);
    note(FileSystemKind.SQUASHFS, has(0, "hsqs"));
    note(FileSystemKind.NTFS, has(3, "NTFS    "));
    note(FileSystemKind.FAT, has(54, "FAT1") || has(82, "FAT32   "));
    note(FileSystemKind.EXFAT, has(3, "EXFAT   "));
    note(FileSystemKind.ISO9660, has(0x8001, "CD001"));
    note(
        FileSystemKind.BCACHEFS,
        Long.reverseBytes(start.getLong(4096 + 24)) == 0xC68573F64E1A45CAL
            || Long.reverseBytes(start.getLong(4096 + 24)) == 0xC68573F666CE90A9L);
    note(FileSystemKind.MD_RAID, start.getInt(0) == MD_MAGIC || start.getInt(4096) == MD_MAGIC);
    note(FileSystemKind.VERITY, has(0, "verity\0\0"));
    note(FileSystemKind.BLUESTORE, has(0, "bluestore block device"));
  }

  /** All that lies behind the start, in one round trip. */
  private void findFurther(Device device) throws IOException {
    List<BlockReader.Request> places = OtherFormats.further(device);
    List<BlockReader.Request> reads = new ArrayList<>(places);
    boolean hasEnd = device.size() >= START + END;
    long from = (device.size() - END) / 4096 * 4096;
    ByteBuffer end = ByteBuffer.allocate(hasEnd ? (int) (device.size() - from) : 0);
    if (hasEnd) {
      reads.add(new BlockReader.Request(from, end));
    }
    device.readAll(reads);
    note(FileSystemKind.OTHER, OtherFormats.areThere(start, places));
    if (hasEnd) {
      findAtEnd(device, from, end.order(ByteOrder.LITTLE_ENDIAN));
    }
  }

  /** MD superblocks 0.90 and 1.0 lie behind the file system that the array holds. */
  private void findAtEnd(Device device, long from, ByteBuffer end) {
    long old = (device.size() & ~0xffffL) - 0x10000 - from;
    long newer = (device.size() - 8192) / 4096 * 4096 - from;
    note(
        FileSystemKind.MD_RAID,
        end.getInt((int) old) == MD_MAGIC || end.getInt((int) newer) == MD_MAGIC);
  }

  /**
   * A boot sector signature alone says little: boot loaders and FAT have it as well. NTFS of
   * Windows has messages where the records would be; they are taken for none that fits on the
   * device.
   */
  private boolean hasPartitionRecords(long size) {
    boolean ntfs = has(3, "NTFS    ");
    if ((start.getShort(510) & 0xffff) != 0xAA55) {
      return false;
    }
    for (int record = 446; record < 510; record += 16) {
      boolean active = (start.get(record) & 0x7f) == 0;
      long sectors = start.getInt(record + 12) & 0xffffffffL;
      long end = (start.getInt(record + 8) & 0xffffffffL) + sectors;
      boolean fits = !ntfs || end <= size / 512;
      if (active && start.get(record + 4) != 0 && sectors != 0 && fits) {
        return true;
      }
    }
    return false;
  }

  private void note(FileSystemKind kind, boolean there) {
    if (there) {
      found.add(kind);
    }
  }

  private boolean has(int at, String text) {
    byte[] wanted = text.getBytes(StandardCharsets.ISO_8859_1);
    for (int i = 0; i < wanted.length; i++) {
      if (start.get(at + i) != wanted[i]) {
        return false;
      }
    }
    return true;
  }
}
