package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.cls.ObjectMap;
import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.driver.reclaim.fs.FreeRange;
import io.cephcsi.driver.reclaim.fs.RangeVisitor;

/**
 * Which ranges of an image a trim discards: what the file system does not use and the image has
 * allocated. Computed on the fly, so that its size in memory does not grow with the image's.
 *
 * <p>What would only cost, or would make the image larger, is left out:
 *
 * <ul>
 *   <li>objects that do not exist: in a clone, discarding them would write objects that hide the
 *       parent's data;
 *   <li>parts of objects that a snapshot shares: they would be copied for the snapshot first;
 *   <li>such objects as a whole where a clone's parent lies below, as an empty object must stay;
 *   <li>parts shorter than the granularity, which librbd would not discard either. Objects that are
 *       not longer than it are cut off at any place, and nothing else is discarded in them.
 * </ul>
 *
 * <p>A striped image is discarded by whole sets of objects only, as a range within a set is
 * scattered over them.
 */
final class TrimPlan {
  private static final long MERGE_BYTES = 4 << 20;

  private final FreeSpace free;
  private final ImageLayout layout;
  private final ObjectMap map;
  private final long overlap;
  private final Sharing sharing;
  private final long granularity;

  /**
   * @param free what the file system does not use
   * @param layout how the image lies in objects
   * @param map which objects exist
   * @param overlap up to where a parent's data lies below; 0 without a parent
   * @param sharing what snapshots share
   * @param granularity the shortest range inside an object, and what its ends are multiples of
   */
  TrimPlan(
      FreeSpace free,
      ImageLayout layout,
      ObjectMap map,
      long overlap,
      Sharing sharing,
      long granularity) {
    this.free = free;
    this.layout = layout;
    this.map = map;
    this.overlap = overlap;
    this.sharing = sharing;
    this.granularity = Math.min(granularity, layout.objectSize());
  }

  /** Visits what is to be discarded, in ascending order; can be repeated. */
  void forEach(Visitor visitor) {
    Merging merging = new Merging(visitor);
    free.freeRanges(range -> visit(range, merging));
    merging.flush();
  }

  /** What it comes to when all of it is discarded. */
  Discarded sum() {
    Tally tally = new Tally();
    forEach(tally);
    return tally.sum();
  }

  private void visit(FreeRange range, Merging merging) {
    long unit = layout.setBytes();
    long end = Math.min(range.end(), layout.size());
    long object = map.nextExisting(range.offset() / unit * layout.stripeCount());
    while (object >= 0 && object / layout.stripeCount() * unit < end) {
      long set = object / layout.stripeCount();
      long start = set * unit;
      long stop = Math.min(start + unit, layout.size());
      if (range.offset() <= start && end >= stop) {
        if (wholeIsOfUse(set, start)) {
          merging.whole(start, stop - start);
        }
      } else if (partIsOfUse(set)) {
        part(Math.max(range.offset(), start), Math.min(end, stop), stop, merging);
      }
      object = map.nextExisting((set + 1) * layout.stripeCount());
    }
  }

  private void part(long from, long to, long objectEnd, Merging merging) {
    if (granularity == layout.objectSize()) {
      if (to == objectEnd) {
        merging.part(from, to - from);
      }
      return;
    }
    long first = (from + granularity - 1) / granularity * granularity;
    long last = to == objectEnd ? to : to / granularity * granularity;
    if (last - first >= granularity) {
      merging.part(first, last - first);
    }
  }

  private boolean wholeIsOfUse(long set, long start) {
    if (start >= overlap) {
      return true;
    }
    long first = set * layout.stripeCount();
    for (long object = first; object < first + layout.stripeCount(); object++) {
      if ((object < layout.objects() && !map.exists(object)) || shared(object)) {
        return false;
      }
    }
    return true;
  }

  private boolean partIsOfUse(long set) {
    return layout.stripeCount() == 1 && !shared(set);
  }

  private boolean shared(long object) {
    return switch (sharing) {
      case NONE -> false;
      case BY_MAP -> map.isClean(object);
      case UNKNOWN -> true;
    };
  }

  /** What snapshots share with the image. */
  enum Sharing {
    /** There is no snapshot. */
    NONE,
    /** The object map says it. */
    BY_MAP,
    /** There are snapshots, and nothing says what they share. */
    UNKNOWN
  }

  /** Free ranges of a file system, ascending, with used space between any two. */
  @FunctionalInterface
  interface FreeSpace {
    void freeRanges(RangeVisitor visitor);
  }

  /** Told of ranges to discard. */
  interface Visitor {
    /**
     * A range.
     *
     * @param whole whether it consists of whole objects
     */
    void discard(long offset, long length, boolean whole);
  }

  /** Sums up what is discarded of this plan. Used by one thread. */
  final class Tally implements Visitor {
    private long bytes;
    private long objects;
    private long insideBytes;
    private long operations;

    @Override
    public void discard(long offset, long length, boolean whole) {
      bytes += length;
      if (!whole) {
        insideBytes += length;
        operations++;
        return;
      }
      for (long at = offset; at < offset + length; at += layout.setBytes()) {
        wholeSet(at);
      }
    }

    /** librbd removes objects; above a parent's data, and at an odd end, it empties them. */
    private void wholeSet(long start) {
      long first = start / layout.setBytes() * layout.stripeCount();
      long existing = 0;
      for (long object = first; object < first + layout.stripeCount(); object++) {
        existing += map.exists(object) ? 1 : 0;
      }
      operations += existing;
      if (start < overlap || start + layout.setBytes() > layout.size()) {
        insideBytes += Math.min(layout.setBytes(), layout.size() - start);
      } else {
        objects += existing;
      }
    }

    Discarded sum() {
      return new Discarded(bytes, objects, insideBytes, operations);
    }
  }

  /** Joins small objects that follow one another, as each discard has its price. */
  private static final class Merging {
    private final Visitor visitor;
    private long at;
    private long bytes;

    Merging(Visitor visitor) {
      this.visitor = visitor;
    }

    void whole(long offset, long length) {
      if (bytes > 0 && at + bytes == offset && bytes + length <= MERGE_BYTES) {
        bytes += length;
        return;
      }
      flush();
      at = offset;
      bytes = length;
    }

    void part(long offset, long length) {
      flush();
      visitor.discard(offset, length, false);
    }

    void flush() {
      if (bytes > 0) {
        long length = bytes;
        bytes = 0;
        visitor.discard(at, length, true);
      }
    }
  }
}
