package io.cephcsi.driver.reclaim.fs;

/**
 * Count, sum, maximum and an order-independent digest of ranges, by which two lists are compared.
 */
final class RangeTally {
  private long count;
  private long sum;
  private long longest;
  private long digest;

  void add(long start, long length) {
    count++;
    sum += length;
    longest = Math.max(longest, length);
    digest += mix(mix(start) + length);
  }

  /** Spreads every input bit over the whole word (the finalizer of SplitMix64). */
  static long mix(long value) {
    long mixed = (value ^ (value >>> 30)) * 0xBF58476D1CE4E5B9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
    return mixed ^ (mixed >>> 31);
  }

  long count() {
    return count;
  }

  long sum() {
    return sum;
  }

  long longest() {
    return longest;
  }

  boolean sameAs(RangeTally other) {
    return count == other.count
        && sum == other.sum
        && longest == other.longest
        && digest == other.digest;
  }
}
