package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;

/** A GUID partition table on a device of 512-byte sectors, of which both copies say the same. */
final class GuidPartitionTable {
  private static final int SECTOR = Partition.SECTOR;
  private static final long SIGNATURE = 0x5452415020494645L;
  private static final int REVISION = 0x00010000;
  private static final int PROTECTIVE = 0xEE;
  private static final long LARGEST_TABLE = 1 << 20;
  private static final int MOST_PARTITIONS = 128;

  /** Of a partition's attributes, as both Windows and systemd have it. */
  private static final long READ_ONLY = 1L << 60;

  private GuidPartitionTable() {}

  /** Whether the second sector carries the signature. */
  static boolean looksLikeOne(ByteBuffer start) {
    return start.getLong(SECTOR) == SIGNATURE;
  }

  /** Whether the last sector carries the signature, as the second copy of a table does. */
  static boolean isAtEnd(Device device) throws IOException {
    long last = device.size() / SECTOR - 1;
    return last >= 0
        && device.read(last * SECTOR, 8, ByteOrder.LITTLE_ENDIAN).getLong(0) == SIGNATURE;
  }

  /**
   * Returns the partitions, by number.
   *
   * @param start the first sectors of the device, little-endian
   * @throws Refusal if the table is damaged, or has no partition
   */
  static List<Partition> read(Device device, ByteBuffer start) throws IOException {
    checkProtective(start);
    long sectors = device.size() / SECTOR;
    ByteBuffer header = start.slice(SECTOR, SECTOR).order(ByteOrder.LITTLE_ENDIAN);
    checkHeader(header, 1);
    long alternate = header.getLong(32);
    long firstUsable = header.getLong(40);
    long lastUsable = header.getLong(48);
    require(
        alternate > lastUsable
            && alternate < sectors
            && firstUsable > 1
            && lastUsable >= firstUsable,
        "bounds that do not fit the device");
    ByteBuffer copy = device.read(alternate * SECTOR, SECTOR, ByteOrder.LITTLE_ENDIAN);
    checkCopy(header, copy, alternate);
    require(alternate == sectors - 1 || !isAtEnd(device), "a second copy at two places");
    ByteBuffer entries = readEntries(device, header, 2, firstUsable);
    require(
        readEntries(device, copy, lastUsable + 1, alternate).equals(entries),
        "entries that differ in both copies");
    return partitions(entries, header);
  }

  private static List<Partition> partitions(ByteBuffer entries, ByteBuffer header) {
    List<Partition> partitions = new ArrayList<>();
    int size = header.getInt(84);
    for (int at = 0; at < entries.limit(); at += size) {
      if ((entries.getLong(at) | entries.getLong(at + 8)) == 0) {
        continue;
      }
      require(partitions.size() < MOST_PARTITIONS, "more than 128 partitions");
      long first = entries.getLong(at + 32);
      long last = entries.getLong(at + 40);
      require(
          first >= header.getLong(40) && last >= first && last <= header.getLong(48),
          "a partition outside of the usable area");
      boolean readOnly = (entries.getLong(at + 48) & READ_ONLY) != 0;
      PartitionType type = PartitionType.ofGpt(entries.getLong(at), entries.getLong(at + 8));
      require(type != PartitionType.DYNAMIC, "a dynamic disk of Windows");
      partitions.add(new Partition(at / size + 1, first, last - first + 1, readOnly, type));
    }
    require(!partitions.isEmpty(), "no partition");
    Partition.checkApart(partitions, "GPT");
    return partitions;
  }

  /** A hybrid MBR has other records, and another idea of what lies where. */
  private static void checkProtective(ByteBuffer start) {
    boolean right = (start.get(510) & 0xff) == 0x55 && (start.get(511) & 0xff) == 0xAA;
    right &= (start.get(446 + 4) & 0xff) == PROTECTIVE;
    for (int i = 446 + 16; i < 510; i++) {
      right &= start.get(i) == 0;
    }
    require(right, "no protective MBR");
  }

  private static void checkHeader(ByteBuffer header, long sector) {
    int size = header.getInt(12);
    require(header.getLong(0) == SIGNATURE, "a copy without signature");
    require(header.getInt(8) == REVISION && size >= 92 && size <= SECTOR, "an unknown revision");
    ByteBuffer copy = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    copy.put(0, header, 0, size).putInt(16, 0);
    require(crc(copy) == header.getInt(16), "a wrong checksum");
    require(header.getLong(24) == sector, "a header that belongs elsewhere");
  }

  /** The copy says the same, but for the places of both headers and of its own entries. */
  private static void checkCopy(ByteBuffer header, ByteBuffer copy, long alternate) {
    checkHeader(copy, alternate);
    require(
        copy.getLong(32) == 1
            && copy.getInt(12) == header.getInt(12)
            && copy.slice(40, 32).equals(header.slice(40, 32))
            && copy.slice(80, 12).equals(header.slice(80, 12)),
        "copies that differ");
  }

  private static ByteBuffer readEntries(Device device, ByteBuffer header, long from, long to)
      throws IOException {
    long count = header.getInt(80) & 0xffffffffL;
    int size = header.getInt(84);
    long at = header.getLong(72);
    require(size >= 128 && size <= 4096 && Integer.bitCount(size) == 1, "entries of odd size");
    require(count > 0 && count * size <= LARGEST_TABLE, "too many entries");
    long length = (count * size + SECTOR - 1) / SECTOR;
    require(at >= from && at <= to - length, "misplaced entries");
    ByteBuffer entries = device.read(at * SECTOR, (int) (count * size), ByteOrder.LITTLE_ENDIAN);
    require(crc(entries.duplicate()) == header.getInt(88), "a wrong checksum of its entries");
    return entries;
  }

  private static int crc(ByteBuffer bytes) {
    CRC32 crc = new CRC32();
    crc.update(bytes);
    return (int) crc.getValue();
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw Partition.refusal("GPT", otherwise);
    }
  }
}
