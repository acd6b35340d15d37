package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/** A disk with a partition table made by hand, with gaps between the partitions. */
final class TinyDisk {
  static final int SECTOR = 512;
  static final int ENTRY = 128;
  private static final int ENTRIES = 128;
  private static final int FIRST_USABLE = 34;
  private static final int GAP = 7;

  final byte[] bytes;
  final List<Integer> starts;
  private final ByteBuffer disk;

  private TinyDisk(int sectors, List<Integer> starts) {
    this.bytes = new byte[sectors * SECTOR];
    this.starts = starts;
    this.disk = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static TinyDisk with(int first, int behind, List<byte[]> contents) {
    List<Integer> starts = new ArrayList<>();
    int at = first;
    for (byte[] content : contents) {
      starts.add(at);
      at += content.length / SECTOR + GAP;
    }
    TinyDisk disk = new TinyDisk(at + behind, starts);
    for (int i = 0; i < contents.size(); i++) {
      byte[] content = contents.get(i);
      System.arraycopy(content, 0, disk.bytes, starts.get(i) * SECTOR, content.length);
    }
    return disk;
  }

  /** A GPT with both copies. */
  static TinyDisk guid(byte[]... contents) {
    TinyDisk made = with(FIRST_USABLE + GAP, 33, List.of(contents));
    made.disk.put(450, (byte) 0xEE).putInt(454, 1).putInt(458, -1);
    made.disk.putShort(510, (short) 0xAA55);
    long last = made.bytes.length / SECTOR - 1L;
    made.writeHeader(1, last, 2);
    made.writeHeader(last, 1, last - 32);
    for (int i = 0; i < contents.length; i++) {
      made.entry(i, made.starts.get(i), contents[i].length / SECTOR);
    }
    made.copyEntries();
    return made;
  }

  private void writeHeader(long at, long other, long entries) {
    int header = (int) at * SECTOR;
    long last = bytes.length / SECTOR - 1L;
    disk.put(header, "EFI PART".getBytes(StandardCharsets.US_ASCII));
    disk.putInt(header + 8, 0x10000).putInt(header + 12, 92);
    disk.putLong(header + 24, at).putLong(header + 32, other);
    disk.putLong(header + 40, FIRST_USABLE).putLong(header + 48, last - 33);
    disk.putLong(header + 56, 4711).putLong(header + 72, entries);
    disk.putInt(header + 80, ENTRIES).putInt(header + 84, ENTRY);
  }

  /** Fills an entry of the first copy. */
  void entry(int index, long first, long sectors) {
    int at = 2 * SECTOR + index * ENTRY;
    disk.putLong(at, 0x4433221100L + 1).putLong(at + 8, 8).putLong(at + 16, index + 1);
    disk.putLong(at + 32, first).putLong(at + 40, first + sectors - 1);
  }

  /** Makes the second copy's entries those of the first, and all checksums right. */
  TinyDisk copyEntries() {
    int copy = bytes.length - 33 * SECTOR;
    System.arraycopy(bytes, 2 * SECTOR, bytes, copy, ENTRIES * ENTRY);
    return sum();
  }

  /** Makes all checksums right. */
  TinyDisk sum() {
    sum(SECTOR, 2 * SECTOR);
    sum(bytes.length - SECTOR, bytes.length - 33 * SECTOR);
    return this;
  }

  private void sum(int header, int entries) {
    disk.putInt(header + 88, crc(entries, ENTRIES * ENTRY));
    disk.putInt(header + 16, 0);
    disk.putInt(header + 16, crc(header, 92));
  }

  private int crc(int at, int length) {
    CRC32 crc = new CRC32();
    crc.update(bytes, at, length);
    return (int) crc.getValue();
  }

  /** The bytes as they are changed. */
  ByteBuffer disk() {
    return disk;
  }

  /** Where the second header of a GPT is. */
  int secondHeader() {
    return bytes.length - SECTOR;
  }

  /**
   * An MBR.
   *
   * @param primary how many of the contents are in primary partitions; the others are logical
   */
  static TinyDisk mbr(int primary, byte[]... contents) {
    TinyDisk made = with(GAP, 0, List.of(contents));
    made.disk.putShort(510, (short) 0xAA55);
    for (int i = 0; i < primary; i++) {
      made.record(0, i, 0x83, made.starts.get(i), contents[i].length / SECTOR);
    }
    if (contents.length > primary) {
      // Each record of the chain lies in the gap before its partition.
      int extended = made.starts.get(primary) - 2;
      made.record(0, primary, 0x0F, extended, made.bytes.length / SECTOR - extended);
      for (int i = primary; i < contents.length; i++) {
        int at = made.starts.get(i) - 2;
        made.disk.putShort(at * SECTOR + 510, (short) 0xAA55);
        made.record(at, 0, 0x83, 2, contents[i].length / SECTOR);
        if (i + 1 < contents.length) {
          int next = made.starts.get(i + 1) - 2;
          made.record(at, 1, 0x05, next - extended, contents[i + 1].length / SECTOR + 2);
        }
      }
    }
    return made;
  }

  /** Fills one of the four records in a sector. */
  void record(int sector, int index, int type, int first, int sectors) {
    int at = record(sector, index);
    disk.put(at + 4, (byte) type).putInt(at + 8, first).putInt(at + 12, sectors);
  }

  /** Where a record is. */
  static int record(int sector, int index) {
    return sector * SECTOR + 446 + 16 * index;
  }

  /** What the contents have free by themselves, on this disk. */
  List<FreeRange> free(byte[]... contents) throws IOException {
    List<FreeRange> free = new ArrayList<>();
    for (int i = 0; i < contents.length; i++) {
      long start = (long) starts.get(i) * SECTOR;
      if (FileSystems.inspect(new MemoryImage(contents[i])) instanceof Inspection.Clean clean) {
        clean.freeRanges(range -> free.add(new FreeRange(start + range.offset(), range.length())));
      }
    }
    return free;
  }

  Survey survey() throws IOException {
    return FileSystems.survey(new MemoryImage(bytes));
  }

  /** The same on a disk of another size, with nothing behind it. */
  byte[] resized(int sectors) {
    return Arrays.copyOf(bytes, sectors * SECTOR);
  }
}
