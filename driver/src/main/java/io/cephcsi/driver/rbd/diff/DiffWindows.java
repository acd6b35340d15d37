package io.cephcsi.driver.rbd.diff;

import io.cephcsi.bindings.rbd.DiffVisitor;
import io.cephcsi.driver.volume.Extent;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;

/**
 * Walks over the extents of an image in windows, one after the other, with a bounded number of
 * extents in memory. How many a window has, the image's writer decides: 4 GiB with every other 4
 * KiB changed have half a million. A window with more than the bound is left, and begun anew with
 * half its length. Used by one thread.
 */
final class DiffWindows {
  /** The most extents of a window, of 36 bytes each: the driver serves 16 streams at once. */
  static final int MOST = 8192;

  /** The longest window in bytes; a power of two, as all are. */
  private static final long LONGEST = 4L << 30;

  /**
   * The shortest window in bytes. It is a block of a comparison, and cannot have more extents than
   * bytes, however small the bound is.
   */
  private static final long SHORTEST = 4096;

  private final int most;
  private long window = LONGEST;

  /** With the usual bound. */
  DiffWindows() {
    this(MOST);
  }

  /**
   * @param most extents in memory, in windows of more than 4 KiB
   */
  DiffWindows(int most) {
    this.most = most;
  }

  /** Looks for extents in a range. */
  @FunctionalInterface
  interface Diff {
    /**
     * Tells a visitor of them, in any order; none reaches out of the range.
     *
     * @return false if the visitor ended it
     */
    boolean in(long offset, long length, DiffVisitor visitor);
  }

  /**
   * Walks; blocks as the others do.
   *
   * @param from begin here, in bytes
   * @param size of the image, in bytes
   * @param requireTaker called before each window and with each extent
   * @param take gets the extents of each window, by their offsets; windows without any, too
   */
  void walk(long from, long size, Diff diff, Runnable requireTaker, Consumer<List<Extent>> take) {
    long at = from;
    while (at < size) {
      requireTaker.run();
      // Ends at its multiples, where objects end, too.
      long end = Math.min(size, at - at % window + window);
      List<Extent> found = new ArrayList<>();
      boolean bounded = window > SHORTEST;
      boolean all =
          diff.in(
              at,
              end - at,
              (offset, length, exists) -> {
                requireTaker.run();
                if (bounded && found.size() == most) {
                  return false;
                }
                found.add(new Extent(offset, length));
                return true;
              });
      if (!all) {
        window /= 2;
        continue;
      }
      // Of a striped image the extents come object by object.
      found.sort(Comparator.comparingLong(Extent::offset));
      take.accept(found);
      at = end;
      if (found.size() < most / 4 && window < LONGEST) {
        window *= 2;
      }
    }
  }
}
