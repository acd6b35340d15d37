package io.cephcsi.driver.reclaim;

import java.util.Arrays;
import java.util.Optional;

/** The ranges to discard, in memory: 16 bytes each. Immutable. */
final class Discards {
  private long[] starts = new long[64];
  private long[] ends = new long[64];
  private int count;

  private Discards() {}

  /** The ranges of a plan; none without one. */
  static Discards of(Optional<TrimPlan> plan) {
    Discards discards = new Discards();
    plan.ifPresent(p -> p.forEach((offset, length, whole) -> discards.add(offset, length)));
    return discards;
  }

  private void add(long offset, long length) {
    if (count > 0 && ends[count - 1] == offset) {
      ends[count - 1] += length;
      return;
    }
    if (count == starts.length) {
      starts = Arrays.copyOf(starts, 2 * count);
      ends = Arrays.copyOf(ends, 2 * count);
    }
    starts[count] = offset;
    ends[count++] = offset + length;
  }

  /** Visits what is discarded of a range, in ascending order. */
  void within(long from, long to, Visitor visitor) {
    int first = Arrays.binarySearch(starts, 0, count, from);
    for (int i = first >= 0 ? first : Math.max(0, -first - 2); i < count && starts[i] < to; i++) {
      if (ends[i] > from) {
        visitor.range(Math.max(starts[i], from), Math.min(ends[i], to));
      }
    }
  }

  /** Told of ranges. */
  interface Visitor {
    void range(long from, long to);
  }
}
