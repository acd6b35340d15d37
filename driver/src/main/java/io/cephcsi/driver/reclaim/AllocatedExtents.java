package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.ImageInfo;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.reclaim.fs.InspectionStopped;
import io.cephcsi.driver.volume.Extent;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * What an image has allocated, in ascending order. It is asked for piece by piece, as a list of all
 * may be larger than the memory; an extent over the border of two pieces is told as two. Used by
 * one thread.
 */
final class AllocatedExtents {
  // librbd reads the object map for each piece of whole objects; and each object else.
  private static final long MOST_PIECES = 256;
  private static final long LEAST_OBJECTS = 1 << 14;
  private static final long MOST_OBJECTS = 1 << 17;
  private static final long EXACT_OBJECTS = 64;

  private final RbdImage image;
  private final boolean wholeObjects;
  private final long size;
  private final long piece;
  private final BooleanSupplier stop;
  private final Deque<Extent> found = new ArrayDeque<>();
  private long asked;

  /**
   * @param wholeObjects whether objects count as a whole
   * @param stop asked before each piece; must not block
   */
  AllocatedExtents(RbdImage image, ImageInfo info, boolean wholeObjects, BooleanSupplier stop) {
    this.image = image;
    this.stop = stop;
    this.wholeObjects = wholeObjects;
    this.size = info.size();
    long objects =
        wholeObjects
            ? Math.min(MOST_OBJECTS, Math.max(LEAST_OBJECTS, info.objects() / MOST_PIECES))
            : EXACT_OBJECTS;
    this.piece = objects * info.objectSize();
  }

  /**
   * The next extent; empty behind the last. At most as many calls of librbd as there are pieces.
   *
   * @throws InspectionStopped if it is to be stopped
   */
  Optional<Extent> next() {
    while (found.isEmpty() && asked < size) {
      if (stop.getAsBoolean()) { // pieces without an extent tell nobody that time passes
        throw new InspectionStopped();
      }
      long length = Math.min(piece, size - asked);
      image.diff(
          Optional.empty(),
          asked,
          length,
          false,
          wholeObjects,
          (offset, bytes, exists) -> {
            if (exists) {
              found.add(new Extent(offset, bytes));
            }
            return true;
          });
      asked += length;
    }
    return Optional.ofNullable(found.poll());
  }
}
