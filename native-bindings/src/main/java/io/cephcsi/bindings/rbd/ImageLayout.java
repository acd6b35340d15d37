package io.cephcsi.bindings.rbd;

import java.util.Optional;

/**
 * How the bytes of an image lie in its objects.
 *
 * @param size in bytes
 * @param objectSize in bytes
 * @param stripeUnit in bytes; the object size when the image is not striped
 * @param stripeCount over how many objects a stripe goes; 1 when the image is not striped
 */
public record ImageLayout(long size, long objectSize, long stripeUnit, long stripeCount) {
  private static final int LEAST_ORDER = 12;
  private static final int MOST_ORDER = 25;
  private static final long MOST_STRIPES = 1 << 16;
  private static final long MOST_PIECES = 1 << 22;

  /**
   * A layout that an image can have: objects and units as librbd requires them when it creates an
   * image. When it opens one, it believes them, and divides by what overflows 32 bits. It knows no
   * bound of the number of objects in a stripe: 65536 is the bound of the driver. Nor does it know
   * one of the pieces of all objects of a stripe, of which it makes a list: 2^22 is the driver's.
   *
   * @param order 2^order is the object size
   * @return empty if no image has such a layout
   */
  public static Optional<ImageLayout> possible(
      long size, int order, long stripeUnit, long stripeCount) {
    if (order < LEAST_ORDER || order > MOST_ORDER) {
      return Optional.empty();
    }
    long objectSize = 1L << order;
    boolean divides = stripeUnit >= 1 && stripeUnit <= objectSize && objectSize % stripeUnit == 0;
    return divides && arePossible(stripeCount, objectSize / stripeUnit)
        ? Optional.of(new ImageLayout(size, objectSize, stripeUnit, stripeCount))
        : Optional.empty();
  }

  /**
   * Whether the driver takes so many objects in a stripe, each of so many pieces.
   *
   * @param pieces how many stripe units an object has; positive
   */
  public static boolean arePossible(long stripeCount, long pieces) {
    return stripeCount >= 1 && stripeCount <= MOST_STRIPES && pieces <= MOST_PIECES / stripeCount;
  }

  /** Bytes of one set of objects, which holds a contiguous range of the image. */
  public long setBytes() {
    return objectSize * stripeCount;
  }

  /** How many objects the image has when all exist. */
  public long objects() {
    long sets = (size + setBytes() - 1) / setBytes();
    long rest = size % setBytes();
    long stripe = stripeUnit * stripeCount;
    long missing =
        rest > 0 && rest < stripe ? stripeCount - (rest + stripeUnit - 1) / stripeUnit : 0;
    return sets * stripeCount - missing;
  }

  /** The first object of the only set that may hold less than its objects could. */
  public long firstPartialObject() {
    return size / setBytes() * stripeCount;
  }

  /** The object that holds a byte. */
  public long objectOf(long offset) {
    long unit = offset / stripeUnit;
    long stripe = unit / stripeCount;
    return stripe / (objectSize / stripeUnit) * stripeCount + unit % stripeCount;
  }

  /** How many bytes of the image an object holds. */
  public long bytesOf(long object) {
    long before = object / stripeCount * setBytes();
    long inSet = Math.min(setBytes(), Math.max(0, size - before));
    long stripe = stripeUnit * stripeCount;
    long rest = inSet % stripe - object % stripeCount * stripeUnit;
    return inSet / stripe * stripeUnit + Math.min(stripeUnit, Math.max(0, rest));
  }

  /** The same layout at another size, such as a snapshot's. */
  public ImageLayout resized(long newSize) {
    return new ImageLayout(newSize, objectSize, stripeUnit, stripeCount);
  }
}
