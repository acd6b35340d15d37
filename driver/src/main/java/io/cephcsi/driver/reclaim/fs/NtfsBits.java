package io.cephcsi.driver.reclaim.fs;

/** A set of cluster or record numbers; where all or none of 32,768 are in it, it takes nothing. */
final class NtfsBits {
  private static final int CHUNK = 1 << 15;

  /** Chunks of 4 KiB that are held at most: 32 MiB. */
  private static final int MOST_CHUNKS = 8192;

  private static final long[] ALL = new long[0];

  private final String what;
  private final InspectionMemory memory;
  private final long[][] chunks;
  private final int[] counts;
  private int held;

  /**
   * @param size numbers are below it; at most 2^32
   * @param what a number stands for, such as "cluster"
   * @param memory for what is in the set
   */
  NtfsBits(long size, String what, InspectionMemory memory) {
    this.what = what;
    this.memory = memory;
    int count = Math.toIntExact((size + CHUNK - 1) / CHUNK);
    memory.take((long) count * (Long.BYTES + Integer.BYTES));
    chunks = new long[count][];
    counts = new int[count];
  }

  /** Adds numbers that are not in the set yet; refuses otherwise. */
  void add(long from, long length) {
    long at = from;
    long end = from + length;
    while (at < end) {
      int chunk = (int) (at / CHUNK);
      int first = (int) (at % CHUNK);
      int last = (int) Math.min(CHUNK, first + (end - at));
      add(chunk, first, last);
      at += last - first;
    }
  }

  private void add(int index, int first, int end) {
    long[] chunk = chunks[index];
    if (chunk == null) {
      if (first == 0 && end == CHUNK) {
        chunks[index] = ALL;
        return;
      }
      if (held++ == MOST_CHUNKS) {
        throw Refusal.unsupported("used " + what + "s are too scattered to be held in memory");
      }
      memory.take(CHUNK / 8);
      chunk = new long[CHUNK / 64];
      chunks[index] = chunk;
    }
    for (int word = first / 64; word * 64 < end; word++) {
      long mask = -1L;
      mask &= word * 64 < first ? -1L << (first % 64) : -1L;
      mask &= word * 64 + 64 > end ? -1L >>> (64 - end % 64) : -1L;
      if (chunk == ALL || (chunk[word] & mask) != 0) {
        long number = (long) index * CHUNK + Math.max(first, word * 64);
        throw Refusal.inconsistent(what + " " + number + " or one after it is claimed twice");
      }
      chunk[word] |= mask;
    }
    counts[index] += end - first;
    if (counts[index] == CHUNK) {
      chunks[index] = ALL;
      held--;
      memory.give(CHUNK / 8);
    }
  }

  boolean has(long number) {
    return (word(number / 64) >>> (number % 64) & 1) != 0;
  }

  /** 64 numbers as bits, from {@code 64 * index} on; 0 after the end. */
  long word(long index) {
    long chunk = index / (CHUNK / 64);
    if (chunk >= chunks.length) {
      return 0;
    }
    long[] words = chunks[(int) chunk];
    return words == null ? 0 : words == ALL ? -1 : words[(int) (index % (CHUNK / 64))];
  }
}
