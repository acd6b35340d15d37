package io.cephcsi.driver.reclaim.fs;

import java.util.Comparator;
import java.util.List;

/**
 * An entry of a partition table.
 *
 * @param number as Linux numbers it; 0 for a sector that has a part of the table
 * @param first its first sector
 * @param sectors of {@link #SECTOR} bytes, more than 0
 * @param readOnly whether the table says that nobody may write it
 * @param type what the table says of its use
 */
record Partition(int number, long first, long sectors, boolean readOnly, PartitionType type) {
  /** Bytes of a sector: an RBD image has no others. */
  static final int SECTOR = 512;

  Partition(int number, long first, long sectors) {
    this(number, first, sectors, false, PartitionType.PLAIN);
  }

  /** Whether its content is to be looked at as a file system that may be trimmed. */
  boolean usual() {
    return !readOnly && type == PartitionType.PLAIN;
  }

  /** Refuses what is in a partition that is not {@link #usual}. */
  Refusal refusal() {
    return Refusal.unsupported(
        readOnly ? "the partition is read-only" : "by its type the partition is " + type.use());
  }

  String name() {
    return "partition " + number;
  }

  long end() {
    return first + sectors;
  }

  Device on(Device disk) {
    return disk.part(first * SECTOR, sectors * SECTOR);
  }

  /** Refuses unless no two share a sector. */
  static void checkApart(List<Partition> partitions, String table) {
    List<Partition> sorted =
        partitions.stream().sorted(Comparator.comparingLong(Partition::first)).toList();
    for (int i = 1; i < sorted.size(); i++) {
      if (sorted.get(i).first < sorted.get(i - 1).end()) {
        throw refusal(table, "partitions that overlap");
      }
    }
  }

  static Refusal refusal(String table, String detail) {
    return new Refusal(RefusalReason.UNSUPPORTED_PARTITIONS, "the " + table + " has " + detail);
  }
}
