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
 */
record Partition(int number, long first, long sectors, boolean readOnly) {
  /** Bytes of a sector: an RBD image has no others. */
  static final int SECTOR = 512;

  Partition(int number, long first, long sectors) {
    this(number, first, sectors, false);
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
