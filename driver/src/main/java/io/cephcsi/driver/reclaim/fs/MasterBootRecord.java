package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * A partition table of an MBR, with the chain of records that lists logical partitions. It has no
 * checksum and no copy: so the whole of it must be plain, and no two partitions may overlap.
 */
final class MasterBootRecord {
  private static final int SECTOR = Partition.SECTOR;
  private static final int RECORDS = 446;
  private static final int RECORD = 16;
  private static final int GPT = 0xEE;
  private static final int MOST_LOGICAL = 64;
  private static final int FIRST_LOGICAL = 5;

  private final Device device;
  private final List<Partition> partitions = new ArrayList<>();

  /** All that must be apart: partitions, and the sectors of the chain. */
  private final List<Partition> taken = new ArrayList<>();

  private MasterBootRecord(Device device) {
    this.device = device;
  }

  /** A record of four; sectors count from where the record says. */
  private record Entry(int type, long first, long sectors) {
    boolean empty() {
      return type == 0;
    }

    boolean extended() {
      return type == 0x05 || type == 0x0F || type == 0x85;
    }
  }

  /**
   * Returns the partitions, by number; not the extended one.
   *
   * @param start the first sectors of the device, little-endian
   * @throws Refusal if the table is damaged or not plain, or has no partition
   */
  static List<Partition> read(Device device, ByteBuffer start) throws IOException {
    require(!GuidPartitionTable.isAtEnd(device), "a copy of a GPT at the end of the device");
    MasterBootRecord record = new MasterBootRecord(device);
    record.readPrimary(entries(start));
    require(!record.partitions.isEmpty(), "no partition");
    return record.partitions;
  }

  private void readPrimary(List<Entry> entries) throws IOException {
    long end = device.size() / SECTOR;
    List<Partition> primary = new ArrayList<>();
    int extended = -1;
    for (int i = 0; i < entries.size(); i++) {
      Entry entry = entries.get(i);
      if (entry.empty()) {
        continue;
      }
      require(entry.type != GPT, "a record of a GPT");
      require(
          PartitionType.ofMbr(entry.type) != PartitionType.DYNAMIC, "a dynamic disk of Windows");
      require(!entry.extended() || extended < 0, "two extended partitions");
      Partition partition = within(i + 1, entry.first, entry, 1, end);
      primary.add(partition);
      if (entry.extended()) {
        extended = primary.size() - 1;
      } else {
        partitions.add(partition);
        taken.add(partition);
      }
    }
    Partition.checkApart(primary, "MBR");
    if (extended >= 0) {
      readLogical(primary.get(extended));
    }
    Partition.checkApart(taken, "MBR");
  }

  /** Follows the chain: a record of each logical partition names where the next record is. */
  private void readLogical(Partition extended) throws IOException {
    long at = extended.first();
    for (int number = FIRST_LOGICAL; ; ) {
      taken.add(within(0, at, new Entry(0, at, 1), extended.first(), extended.end()));
      List<Entry> entries = entries(device.read(at * SECTOR, SECTOR, ByteOrder.LITTLE_ENDIAN));
      Entry data = entries.get(0);
      Entry next = entries.get(1);
      require(
          entries.get(2).empty() && entries.get(3).empty(), "a logical record with more than two");
      if (data.empty()) {
        require(at == extended.first(), "a logical record without partition");
      } else {
        require(number < FIRST_LOGICAL + MOST_LOGICAL, "more than 64 logical partitions");
        require(!data.extended() && data.type != GPT, "a logical partition of an odd type");
        Partition logical =
            within(number++, at + data.first, data, extended.first(), extended.end());
        partitions.add(logical);
        taken.add(logical);
      }
      if (next.empty()) {
        return;
      }
      require(next.extended() && next.sectors > 0, "a chain that leads elsewhere");
      at = extended.first() + next.first;
      require(next.first > 0 && !isTaken(at), "a chain that comes back");
    }
  }

  private boolean isTaken(long sector) {
    return taken.stream().anyMatch(each -> each.number() == 0 && each.first() == sector);
  }

  private static List<Entry> entries(ByteBuffer sector) {
    require((sector.getShort(510) & 0xffff) == 0xAA55, "a record without signature");
    List<Entry> entries = new ArrayList<>();
    for (int at = RECORDS; at < RECORDS + 4 * RECORD; at += RECORD) {
      int type = sector.get(at + 4) & 0xff;
      long first = sector.getInt(at + 8) & 0xffffffffL;
      long sectors = sector.getInt(at + 12) & 0xffffffffL;
      require((sector.get(at) & 0x7f) == 0, "a record that is neither active nor not");
      require(type != 0 || (first | sectors) == 0, "a record without type");
      entries.add(new Entry(type, first, sectors));
    }
    return entries;
  }

  private static Partition within(int number, long first, Entry entry, long from, long to) {
    PartitionType type = PartitionType.ofMbr(entry.type);
    Partition partition = new Partition(number, first, entry.sectors, false, type);
    require(
        partition.sectors() > 0 && first >= from && first <= to - partition.sectors(),
        "a partition out of bounds");
    return partition;
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw Partition.refusal("MBR", otherwise);
    }
  }
}
