package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.BitSet;

/**
 * The file allocation table in memory, and which of its chains were claimed.
 *
 * <p>No cluster is named by two others, and none that is free or bad by any: so chains do not meet,
 * and one that begins at a cluster which no other names has an end.
 */
final class FatTable {
  private static final int FREE = 0;
  private static final int END = -1;
  private static final int BAD = -2;
  private static final int CHUNK = 1 << 20;

  private final FatBootSector boot;
  private final int[] next;
  private final BitSet named;
  private final BitSet claimed;
  private int freeClusters;

  private FatTable(FatBootSector boot, InspectionMemory memory) {
    this.boot = boot;
    memory.take((boot.clusters + 2L) * Integer.BYTES + (boot.clusters + 2L) / 4);
    this.next = new int[boot.clusters + 2];
    this.named = new BitSet(next.length);
    this.claimed = new BitSet(next.length);
  }

  /**
   * Reads all copies.
   *
   * @throws Refusal if they differ, the file system was not unmounted, or the table makes no sense
   */
  static FatTable read(Device device, FatBootSector boot) throws IOException {
    FatTable table = new FatTable(boot, device.memory());
    long length = ((long) table.next.length * boot.bits + 7) / 8;
    for (long at = 0; at < length; at += CHUNK) {
      int part = (int) Math.min(CHUNK, length - at);
      ByteBuffer bytes = table.readCopies(device, at, part);
      table.load((int) (at / 4), bytes);
    }
    table.checkLinks();
    return table;
  }

  private ByteBuffer readCopies(Device device, long at, int length) throws IOException {
    long start = (long) boot.reserved * boot.sector + at;
    ByteBuffer bytes = device.read(start, length, ByteOrder.LITTLE_ENDIAN);
    for (int copy = 1; copy < boot.copies; copy++) {
      ByteBuffer other =
          device.read(
              start + copy * boot.tableSectors * boot.sector, length, ByteOrder.LITTLE_ENDIAN);
      Refusal.require(
          bytes.mismatch(other) < 0, "the copies of the file allocation table are not the same");
    }
    return bytes;
  }

  /** Takes entries from a part of the table; FAT12 and FAT16 are shorter than one part. */
  private void load(int first, ByteBuffer bytes) {
    int end = boot.bits == 32 ? first + bytes.limit() / 4 : next.length;
    int from = first;
    if (first == 0) {
      checkMedia(raw(bytes, 0), raw(bytes, 1));
      from = 2;
    }
    for (int cluster = from; cluster < end; cluster++) {
      next[cluster] = decode(raw(bytes, cluster - first));
      if (next[cluster] == FREE) {
        freeClusters++;
      }
    }
  }

  private int raw(ByteBuffer bytes, int index) {
    if (boot.bits == 32) {
      return bytes.getInt(4 * index);
    }
    if (boot.bits == 16) {
      return bytes.getShort(2 * index) & 0xffff;
    }
    int at = index + index / 2;
    int both = (bytes.get(at) & 0xff) | (bytes.get(at + 1) & 0xff) << 8;
    return (index & 1) == 0 ? both & 0xfff : both >>> 4;
  }

  /** The first entry repeats the media byte; the second says how the file system was left. */
  private void checkMedia(int first, int second) {
    int ones = boot.bits == 32 ? 0x0fffffff : (1 << boot.bits) - 1;
    Refusal.require(
        (first & 0x0fffffff) == ((ones & ~0xff) | boot.media),
        "the file allocation table does not begin with the media byte");
    int clean = boot.bits == 12 ? 0 : ones ^ ones >>> 1;
    int noError = clean >>> 1;
    Refusal.require(
        ((second & 0x0fffffff) | clean | noError) == ones, "the second entry of the table is odd");
    if ((second & noError) != noError) {
      throw new Refusal(RefusalReason.HAS_ERRORS, "the table says that there was an input error");
    }
    if ((second & clean) != clean) {
      throw new Refusal(RefusalReason.NOT_CLEAN, "the table says: not unmounted");
    }
  }

  private int decode(int entry) {
    if (boot.bits == 32 && entry >>> 28 != 0) {
      throw Refusal.unsupported("the four upper bits of an entry of the table are set");
    }
    if (entry == FREE || (entry >= 2 && entry < next.length)) {
      return entry;
    }
    int bad = boot.bits == 32 ? 0x0ffffff7 : (1 << boot.bits) - 9;
    Refusal.require(entry >= bad, "an entry of the file allocation table is out of range");
    return entry == bad ? BAD : END;
  }

  private void checkLinks() {
    for (int cluster = 2; cluster < next.length; cluster++) {
      int follower = next[cluster];
      if (follower > 0) {
        Refusal.require(!named.get(follower), "two chains of clusters meet");
        Refusal.require(
            next[follower] != FREE && next[follower] != BAD,
            "a chain of clusters goes to a free or bad one");
        named.set(follower);
      }
    }
  }

  /**
   * Claims a whole chain for a file or directory.
   *
   * @return how many clusters it has
   * @throws Refusal if it does not begin there, or belongs to another already
   */
  int claim(int first) {
    Refusal.require(first >= 2 && first < next.length, "a file begins out of range");
    Refusal.require(!named.get(first), "a file begins within a chain of clusters");
    int count = 0;
    for (int cluster = first; cluster != END; cluster = next[cluster]) {
      Refusal.require(next[cluster] != FREE && next[cluster] != BAD, "a file has a free cluster");
      Refusal.require(!claimed.get(cluster), "two files have the same cluster");
      claimed.set(cluster);
      count++;
    }
    return count;
  }

  /** How many clusters from this one on lie one behind the other in a claimed chain. */
  int runLength(int cluster, int most) {
    int length = 1;
    while (length < most && next[cluster + length - 1] == cluster + length) {
      length++;
    }
    return length;
  }

  /** The cluster after this one in a claimed chain, or a negative number at its end. */
  int after(int cluster) {
    return next[cluster];
  }

  int freeClusters() {
    return freeClusters;
  }

  /** Adds the free clusters, counted from cluster 2. */
  void collect(RangePlan plan) {
    for (int cluster = 2; cluster < next.length; cluster++) {
      if (next[cluster] == FREE && !claimed.get(cluster)) {
        plan.add(cluster - 2, 1);
      }
    }
  }
}
