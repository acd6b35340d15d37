package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;

/** A GUID partition table with one partition, on a device of 512-byte sectors. */
final class GuidPartitionTable {
  private static final int SECTOR = 512;
  private static final long SIGNATURE = 0x5452415020494645L;
  private static final int REVISION = 0x00010000;
  private static final int PROTECTIVE = 0xEE;
  private static final long LARGEST_TABLE = 1 << 20;

  private GuidPartitionTable() {}

  /** Whether the second sector carries the signature. */
  static boolean looksLikeOne(ByteBuffer start) {
    return start.getLong(SECTOR) == SIGNATURE;
  }

  /**
   * Returns the partition.
   *
   * @param start the first sectors of the device, little-endian
   * @throws Refusal if the table is damaged or has not exactly one partition
   */
  static Device onlyPartition(Device device, ByteBuffer start) throws IOException {
    checkProtective(start);
    ByteBuffer header = start.slice(SECTOR, SECTOR).order(ByteOrder.LITTLE_ENDIAN);
    long sectors = device.size() / SECTOR;
    checkHeader(header, sectors);
    ByteBuffer entries = readEntries(device, header);
    int size = header.getInt(84);
    Device found = null;
    for (int at = 0; at < entries.limit(); at += size) {
      if ((entries.getLong(at) | entries.getLong(at + 8)) == 0) {
        continue;
      }
      require(found == null, "more than one partition");
      long first = entries.getLong(at + 32);
      long last = entries.getLong(at + 40);
      require(
          first >= header.getLong(40) && last >= first && last <= header.getLong(48),
          "a partition outside of the usable area");
      found = device.part(first * SECTOR, (last - first + 1) * SECTOR);
    }
    if (found == null) {
      throw new Refusal(RefusalReason.UNSUPPORTED_PARTITIONS, "the GPT has no partition");
    }
    return found;
  }

  private static void checkProtective(ByteBuffer start) {
    boolean right = (start.get(510) & 0xff) == 0x55 && (start.get(511) & 0xff) == 0xAA;
    right &= (start.get(446 + 4) & 0xff) == PROTECTIVE;
    for (int i = 446 + 16; i < 510; i++) {
      right &= start.get(i) == 0;
    }
    require(right, "no protective MBR");
  }

  private static void checkHeader(ByteBuffer header, long sectors) {
    int size = header.getInt(12);
    require(header.getInt(8) == REVISION && size >= 92 && size <= SECTOR, "an unknown revision");
    ByteBuffer copy = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    copy.put(0, header, 0, size).putInt(16, 0);
    require(crc(copy) == header.getInt(16), "a wrong checksum");
    long alternate = header.getLong(32);
    long firstUsable = header.getLong(40);
    long lastUsable = header.getLong(48);
    require(
        header.getLong(24) == 1
            && alternate > lastUsable
            && alternate < sectors
            && firstUsable > 1
            && lastUsable >= firstUsable,
        "bounds that do not fit the device");
  }

  private static ByteBuffer readEntries(Device device, ByteBuffer header) throws IOException {
    long count = header.getInt(80) & 0xffffffffL;
    int size = header.getInt(84);
    long at = header.getLong(72);
    require(size >= 128 && size <= 4096 && Integer.bitCount(size) == 1, "entries of odd size");
    require(count > 0 && count * size <= LARGEST_TABLE, "too many entries");
    long end = at + (count * size + SECTOR - 1) / SECTOR;
    require(at >= 2 && at < header.getLong(40) && end <= header.getLong(40), "misplaced entries");
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
      throw new Refusal(RefusalReason.UNSUPPORTED_PARTITIONS, "the GPT has " + otherwise);
    }
  }
}
