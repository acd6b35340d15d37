package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Changes of FAT and exFAT that keep copies and checksums right. */
final class DosBytes {
  private final Mutant mutant;
  private final ByteBuffer boot;

  DosBytes(Mutant mutant) throws IOException {
    this.mutant = mutant;
    this.boot = mutant.peek(0, 512).order(ByteOrder.LITTLE_ENDIAN);
  }

  boolean exfat() {
    return boot.get(3) == 'E';
  }

  /** 12, 16 or 32; exFAT has 32 as well. */
  int bits() {
    return exfat() || boot.getShort(22) == 0 ? 32 : boot.get(58) == '2' ? 12 : 16;
  }

  int sector() {
    return exfat() ? 1 << boot.get(108) : boot.getShort(11);
  }

  int clusterSize() {
    return exfat() ? sector() << boot.get(109) : sector() * (boot.get(13) & 0xff);
  }

  private long tableSectors() {
    return boot.getShort(22) != 0 ? boot.getShort(22) & 0xffff : boot.getInt(36);
  }

  /** Byte offset of cluster 2. */
  long data() {
    long sectors =
        exfat()
            ? boot.getInt(88)
            : (boot.getShort(14) & 0xffff)
                + boot.get(16) * tableSectors()
                + (boot.getShort(17) & 0xffff) * 32L / sector();
    return sectors * sector();
  }

  int clusters() {
    if (exfat()) {
      return boot.getInt(92);
    }
    long sectors = boot.getShort(19) != 0 ? boot.getShort(19) & 0xffff : boot.getInt(32);
    return (int) ((sectors * sector() - data()) / clusterSize());
  }

  int rootCluster() {
    return exfat() ? boot.getInt(96) : boot.getInt(44);
  }

  long offsetOf(int cluster) {
    return data() + (cluster - 2L) * clusterSize();
  }

  /** Byte offset of the root directory. */
  long root() {
    return bits() == 32
        ? offsetOf(rootCluster())
        : ((boot.getShort(14) & 0xffff) + boot.get(16) * tableSectors()) * sector();
  }

  /** Byte offset of a copy of the table. */
  long tableOffset(int copy) {
    long sectors = exfat() ? boot.getInt(80) : (boot.getShort(14) & 0xffff) + copy * tableSectors();
    return sectors * sector();
  }

  int entry(int cluster) throws IOException {
    long at = tableOffset(0) + (long) cluster * bits() / 8;
    ByteBuffer bytes = mutant.peek(at, 4).order(ByteOrder.LITTLE_ENDIAN);
    return switch (bits()) {
      case 12 -> bytes.getShort(0) >> ((cluster & 1) * 4) & 0xfff;
      case 16 -> bytes.getShort(0) & 0xffff;
      default -> bytes.getInt(0);
    };
  }

  /** Sets an entry in all copies of the table, and the free counter of FAT32. */
  void setEntry(int cluster, int value) throws IOException {
    int old = entry(cluster);
    int flips = old ^ value;
    for (int copy = 0; copy < (exfat() ? 1 : boot.get(16)); copy++) {
      long at = tableOffset(copy) + (long) cluster * bits() / 8;
      int shifted = bits() == 12 ? (flips & 0xfff) << ((cluster & 1) * 4) : flips;
      for (int i = 0; i < (bits() == 32 ? 4 : 2); i++) {
        mutant.flip(at + i, shifted >>> (8 * i) & 0xff);
      }
    }
    if (bits() == 32 && !exfat() && (old == 0) != (value == 0)) {
      long at = (boot.getShort(48) & 0xffffL) * sector() + 488;
      int count = mutant.peek(at, 4).order(ByteOrder.LITTLE_ENDIAN).getInt();
      mutant.patch(at, little(value == 0 ? count + 1 : count - 1));
    }
  }

  /** Flips bits of the boot sector and of its copy, and makes the checksum right. */
  void forgeBoot(int at, int mask) throws IOException {
    mutant.flip(at, mask);
    if (exfat()) {
      sumBoot();
    } else if (bits() == 32) {
      mutant.flip((long) boot.getShort(50) * sector() + at, mask);
    }
  }

  private void sumBoot() throws IOException {
    int sum = 0;
    ByteBuffer region = mutant.peek(0, 11 * sector());
    for (int i = 0; i < region.limit(); i++) {
      if (i != 106 && i != 107 && i != 112) {
        sum = (sum << 31 | sum >>> 1) + (region.get(i) & 0xff);
      }
    }
    ByteBuffer sums = ByteBuffer.allocate(sector()).order(ByteOrder.LITTLE_ENDIAN);
    while (sums.hasRemaining()) {
      sums.putInt(sum);
    }
    mutant.patch(11L * sector(), sums.flip());
    mutant.patch(12L * sector(), mutant.peek(0, 12 * sector()));
  }

  /** Makes the checksum right of the set of entries that starts there. */
  void sumSet(long at) throws IOException {
    ByteBuffer entries = mutant.peek(at, 32 * (1 + (mutant.peek(at + 1, 1).get() & 0xff)));
    int sum = 0;
    for (int i = 0; i < entries.limit(); i++) {
      if (i < 2 || i > 3) {
        sum = (sum << 15 | sum >> 1) + (entries.get(i) & 0xff) & 0xffff;
      }
    }
    mutant.patch(at + 2, ByteBuffer.wrap(new byte[] {(byte) sum, (byte) (sum >> 8)}));
  }

  static ByteBuffer little(int value) {
    return ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, value);
  }
}
