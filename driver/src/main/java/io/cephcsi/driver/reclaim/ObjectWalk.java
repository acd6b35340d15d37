package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.cls.ObjectMap;
import io.cephcsi.bindings.rbd.DiffVisitor;
import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.reclaim.fs.InspectionStopped;
import java.util.BitSet;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Finds out which objects an image has that has no valid object map: librbd asks each of them, and
 * cannot be stopped meanwhile. So it is asked piece by piece.
 */
final class ObjectWalk {
  /** Some minutes. */
  static final long MOST_OBJECTS = 4 << 20;

  private static final long OBJECTS_IN_PIECE = 1024; // a fraction of a second

  private ObjectWalk() {}

  /** Visits what is allocated of a range. */
  interface Ranges {
    void visit(long offset, long length, DiffVisitor visitor);
  }

  /**
   * Walks over an image.
   *
   * @param stop asked before each piece; must not block
   * @throws InspectionStopped when it is told to stop
   */
  static ObjectMap of(RbdImage image, BooleanSupplier stop) {
    return of(
        image.layout(),
        (offset, length, visitor) ->
            image.diff(Optional.empty(), offset, length, false, true, visitor),
        stop);
  }

  static ObjectMap of(ImageLayout layout, Ranges allocated, BooleanSupplier stop) {
    BitSet exists = new BitSet();
    long piece = layout.setBytes() * Math.max(1, OBJECTS_IN_PIECE / layout.stripeCount());
    for (long from = 0; from < layout.size(); from += piece) {
      if (stop.getAsBoolean()) {
        throw new InspectionStopped();
      }
      allocated.visit(
          from,
          Math.min(piece, layout.size() - from),
          (offset, length, data) -> {
            for (long at = offset; data && at < offset + length; ) {
              exists.set((int) layout.objectOf(at));
              at += layout.stripeUnit() - at % layout.stripeUnit();
            }
            return true;
          });
    }
    return ObjectMap.of(layout.objects(), object -> exists.get((int) object));
  }
}
