package io.cephcsi.driver.reclaim.fs;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The free ranges of a file system in ascending order, merged, in 2 to 20 bytes each.
 *
 * <p>Kept in units (a block or sector) as gap and length, both as variable-length integers. When
 * the list outgrows its bound, the shortest ranges are dropped: to list too little is always safe.
 */
final class RangePlan {
  private static final int CHUNK = 64 << 10;
  private static final int FIRST_CHUNK = 256;
  private static final int LONGEST_ENTRY = 20;
  private static final byte[] NOTHING = {};

  private final long start;
  private final int unit;
  private final long bound;
  private final @Nullable InspectionMemory memory;

  private List<byte[]> chunks = new ArrayList<>();
  private byte[] tail = new byte[FIRST_CHUNK];
  private int used;
  private long encodedEnd;
  private long count;
  private long units;

  private long pendingStart = -1;
  private long pendingEnd = -1;
  private long shortest = 1;
  private long omitted;

  /**
   * @param device whose free ranges they are, and whose memory they take: four MiB are one to two
   *     million ranges of usual shape
   * @param first where unit 0 lies on it, in bytes
   * @param unit bytes in a unit
   */
  RangePlan(Device device, long first, int unit) {
    this(device.start() + first, unit, device.memory().forRanges(), device.memory());
  }

  RangePlan(long start, int unit, long bound) {
    this(start, unit, bound, null);
  }

  private RangePlan(long start, int unit, long bound, @Nullable InspectionMemory memory) {
    this.start = start;
    this.unit = unit;
    this.bound = bound;
    this.memory = memory;
  }

  /** Adds a range in units, which must not start before the end of the one added last. */
  void add(long from, long length) {
    Refusal.require(length > 0 && from >= Math.max(pendingEnd, 0), "free ranges overlap");
    if (from == pendingEnd) {
      pendingEnd += length;
      return;
    }
    flush();
    pendingStart = from;
    pendingEnd = from + length;
  }

  /** Counts units that are free and not listed. */
  void omit(long length) {
    omitted += length;
  }

  /** To be called after the last {@link #add}. */
  RangePlan finish() {
    flush();
    pendingStart = -1;
    pendingEnd = -1;
    return this;
  }

  /** Where unit 0 lies on the device, in bytes. */
  long start() {
    return start;
  }

  /** Bound of the encoded list, in bytes. */
  long bound() {
    return bound;
  }

  long count() {
    return count;
  }

  /** What the list takes in memory, in bytes. */
  long encodedBytes() {
    return (long) chunks.size() * CHUNK + used;
  }

  long bytes() {
    return units * unit;
  }

  long omittedBytes() {
    return omitted * unit;
  }

  void forEach(RangeVisitor visitor) {
    walk((from, length) -> visitor.visit(new FreeRange(start + from * unit, length * unit)), false);
  }

  private void flush() {
    if (pendingStart < 0) {
      return;
    }
    long length = pendingEnd - pendingStart;
    if (length < shortest) {
      omitted += length;
      return;
    }
    encode(pendingStart, length);
    while ((long) chunks.size() * CHUNK >= bound) {
      dropShortest();
    }
  }

  private void encode(long from, long length) {
    if (used + LONGEST_ENTRY > CHUNK) {
      if (memory != null) {
        memory.takeForRanges(CHUNK);
      }
      chunks.add(tail);
      tail = new byte[CHUNK];
      used = 0;
    } else if (used + LONGEST_ENTRY > tail.length) {
      tail = Arrays.copyOf(tail, Math.min(2 * tail.length, CHUNK));
    }
    put(from - encodedEnd);
    put(length);
    encodedEnd = from + length;
    count++;
    units += length;
  }

  private void put(long value) {
    long rest = value;
    while (rest >= 0x80) {
      tail[used++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    tail[used++] = (byte) rest;
  }

  /** Leaves out the shortest ranges; makes room when it is called often enough. */
  void dropShortest() {
    shortest *= 2;
    RangePlan kept = new RangePlan(start, unit, Long.MAX_VALUE);
    long[] dropped = new long[1];
    walk(
        (from, length) -> {
          if (length >= shortest) {
            kept.encode(from, length);
          } else {
            dropped[0] += length;
          }
        },
        true);
    omitted += dropped[0];
    chunks = kept.chunks;
    tail = kept.tail;
    used = kept.used;
    encodedEnd = kept.encodedEnd;
    count = kept.count;
    units = kept.units;
  }

  private interface UnitVisitor {
    void visit(long from, long length);
  }

  /**
   * Visits all ranges.
   *
   * @param last whether they are not needed any more: then their memory is freed on the way
   */
  private void walk(UnitVisitor visitor, boolean last) {
    long end = 0;
    Cursor cursor = new Cursor(last);
    for (long i = 0; i < count; i++) {
      long from = end + cursor.next();
      long length = cursor.next();
      end = from + length;
      visitor.visit(from, length);
      cursor.endOfEntry();
    }
  }

  /** Walks over the chunks; an entry never crosses from one to the next. */
  private final class Cursor {
    private final boolean last;
    private int index;
    private int position;

    Cursor(boolean last) {
      this.last = last;
    }

    long next() {
      byte[] chunk = index < chunks.size() ? chunks.get(index) : tail;
      long value = 0;
      for (int shift = 0; ; shift += 7) {
        byte b = chunk[position++];
        value |= (long) (b & 0x7f) << shift;
        if (b >= 0) {
          return value;
        }
      }
    }

    void endOfEntry() {
      // Same rule as in encode: whatever no longer fits was started in the next chunk.
      if (position + LONGEST_ENTRY > CHUNK) {
        if (last && index < chunks.size()) {
          chunks.set(index, NOTHING);
        }
        index++;
        position = 0;
      }
    }
  }
}
