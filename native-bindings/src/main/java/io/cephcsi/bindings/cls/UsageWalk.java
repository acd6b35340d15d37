package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.bindings.rbd.RbdImage;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Sums up what librbd's diffs show of an image and its snapshots. Where librbd asks every object it
 * says nothing of those that are not there: so it is asked for a piece after the other, and the
 * walk can be stopped between them. Used by one thread.
 */
final class UsageWalk {
  /** About a second of asking objects; and where librbd reads a map, it does so for each piece. */
  private static final long LEAST_OBJECTS = 1 << 14;

  private static final long MOST_PIECES = 256;

  private final boolean asksObjects;
  private final boolean wholeObjects;
  private final BooleanSupplier stop;
  private boolean begun;

  /** Ends a walk that is to be stopped. */
  static final class Stopped extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Stopped() {
      super("stopped", null, false, false);
    }
  }

  /**
   * @param asksObjects whether librbd has no maps to compare
   * @param wholeObjects whether objects count as a whole
   * @param stop asked before each piece but the first; must not block
   */
  UsageWalk(boolean asksObjects, boolean wholeObjects, BooleanSupplier stop) {
    this.asksObjects = asksObjects;
    this.wholeObjects = wholeObjects;
    this.stop = stop;
  }

  /**
   * The bytes that are allocated, or were since a snapshot.
   *
   * @throws Stopped if it is to be stopped
   */
  long allocated(RbdImage image, Optional<String> since, boolean withParent) {
    long size = image.size();
    long piece = asksObjects ? piece(image.layout()) : size;
    long[] bytes = {0};
    for (long at = 0; at < size; at += piece) {
      if (begun && stop.getAsBoolean()) {
        throw new Stopped();
      }
      begun = true;
      image.diff(
          since,
          at,
          Math.min(piece, size - at),
          withParent,
          wholeObjects,
          (offset, length, exists) -> {
            bytes[0] += exists ? length : 0;
            return true;
          });
    }
    return bytes[0];
  }

  /** In bytes: whole sets of objects. */
  private static long piece(ImageLayout layout) {
    long objects = Math.max(LEAST_OBJECTS, layout.objects() / MOST_PIECES);
    return Math.max(1, objects / layout.stripeCount()) * layout.setBytes();
  }
}
