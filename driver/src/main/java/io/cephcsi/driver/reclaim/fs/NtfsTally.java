package io.cephcsi.driver.reclaim.fs;

/**
 * Proves, in a few numbers, that the parts of all attributes join without a gap and are as long as
 * their first parts say, however many records they are spread over.
 *
 * <p>Each part adds its start and subtracts its end, mixed with what names the attribute; the first
 * part adds the end that it promises and subtracts 0. When nothing is missing, the sum is 0.
 */
final class NtfsTally {
  private long parts;

  void add(NtfsAttribute part, long base, int clusterSize) {
    long key = part.key(base);
    parts += place(key, part.firstCluster()) - place(key, part.endCluster());
    if (part.firstCluster() == 0) {
      long allocated = part.allocated();
      Refusal.require(
          allocated % clusterSize == 0
              && part.size() <= allocated
              && part.initialized() <= part.size(),
          "record " + base + " has an attribute with wrong sizes");
      parts += place(key, allocated / clusterSize) - place(key, 0);
    }
  }

  private static long place(long key, long cluster) {
    return RangeTally.mix(key ^ RangeTally.mix(cluster + 0x9E3779B97F4A7C15L));
  }

  void check() {
    Refusal.require(parts == 0, "a part of a file is missing, or is there twice");
  }
}
