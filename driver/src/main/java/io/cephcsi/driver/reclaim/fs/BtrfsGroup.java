package io.cephcsi.driver.reclaim.fs;

/** A block group: what the extent tree says of the space in one chunk. */
final class BtrfsGroup {
  private static final int[] NO_RANGES = {};
  private static final long UNKNOWN = -1;

  final BtrfsChunk chunk;
  private final RangeTally free = new RangeTally();
  private long declaredUsed = UNKNOWN;
  private long used;
  private int[] ranges = NO_RANGES;

  BtrfsGroup(BtrfsChunk chunk) {
    this.chunk = chunk;
  }

  /** Takes over the group's own item. */
  void declare(BtrfsKey key, BtrfsFields item) {
    Refusal.require(
        declaredUsed == UNKNOWN
            && item.length() == 24
            && key.objectId() == chunk.start()
            && key.offset() == chunk.length()
            && item.u64(8) == BtrfsKey.FIRST_CHUNK_TREE
            && item.u64(16) == chunk.flags(),
        "a block group differs from its chunk");
    declaredUsed = item.u64(0);
    Refusal.require(declaredUsed >= 0, "a block group with a bad counter");
  }

  void addUsed(long bytes) {
    used += bytes;
  }

  long used() {
    return used;
  }

  RangeTally free() {
    return free;
  }

  /** Sets the free ranges to keep, pairs of start and length in sectors, ascending. */
  void keep(int... pairs) {
    ranges = pairs;
  }

  /** What is kept; belongs to this group. */
  int[] ranges() {
    return ranges;
  }

  /** To be called when the extent tree was read. */
  void check() {
    Refusal.require(declaredUsed != UNKNOWN, "a chunk has no block group");
    Refusal.require(
        used == declaredUsed && used + free.sum() == chunk.length(),
        "the extents of a block group differ from its counter");
  }
}
