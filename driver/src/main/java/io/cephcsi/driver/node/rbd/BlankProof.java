package io.cephcsi.driver.node.rbd;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.cluster.LongStep;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Proves that an image holds nothing but zeros, by reading all of it that is allocated. */
final class BlankProof {
  private static final long MOST = 256L << 20; // more than any half-made file system
  private static final int PIECE = 4 << 20;
  private static final int MOST_EXTENTS = 100_000;

  private BlankProof() {}

  /**
   * Reads what the image and its parents hold.
   *
   * @param from where to begin: what a header of LUKS takes is not looked at
   * @return why it is not certain that all is zero; empty when it is
   */
  static Optional<String> objection(RbdImage image, long from) {
    return LongStep.call(() -> objectionToAny(image, from));
  }

  private static Optional<String> objectionToAny(RbdImage image, long from) {
    List<Extent> extents = new ArrayList<>();
    boolean all = addExtents(image, from, true, extents);
    long bytes = extents.stream().mapToLong(Extent::length).sum();
    if (!all || bytes > MOST) {
      return Optional.of("it has " + bytes + " bytes of data that are no file system");
    }
    return extents.stream()
        .filter(extent -> !isZero(image, extent))
        .findFirst()
        .map(extent -> "it has data near byte " + extent.offset() + " that is no file system");
  }

  /**
   * Reads what an image holds where a format was begun, until that is too much to be of it. Zeros
   * do not count: a format may fill a whole log with them.
   *
   * @param from where to begin
   * @return why somebody else has written it; empty when it may be left of the format
   */
  static Optional<String> objectionToHalf(RbdImage image, long from) {
    return LongStep.call(() -> objectionToMuch(image, from));
  }

  private static Optional<String> objectionToMuch(RbdImage image, long from) {
    List<Extent> extents = new ArrayList<>();
    boolean all = addExtents(image, from, false, extents);
    long bytes = 0;
    for (Extent extent : extents) {
      for (long at = 0; at < extent.length() && bytes <= MOST; at += PIECE) {
        Extent piece = new Extent(extent.offset() + at, Math.min(PIECE, extent.length() - at));
        bytes += isZero(image, piece) ? 0 : piece.length();
      }
    }
    return !all || bytes > MOST
        ? Optional.of("it has more data than a format leaves that was cut off")
        : Optional.empty();
  }

  /** Whether these are all: not more than are looked at. */
  private static boolean addExtents(
      RbdImage image, long from, boolean wholeObjects, List<Extent> extents) {
    long begin = Math.min(from, image.size());
    return image.diff(
        Optional.empty(),
        begin,
        image.size() - begin,
        true,
        wholeObjects,
        (offset, length, exists) -> {
          long end = offset + length; // whole objects may begin before
          if (exists && end > begin) {
            extents.add(new Extent(Math.max(begin, offset), end - Math.max(begin, offset)));
          }
          return extents.size() <= MOST_EXTENTS;
        });
  }

  private static boolean isZero(RbdImage image, Extent extent) {
    for (long at = 0; at < extent.length(); at += PIECE) {
      byte[] data = image.read(extent.offset() + at, (int) Math.min(PIECE, extent.length() - at));
      for (byte each : data) {
        if (each != 0) {
          return false;
        }
      }
    }
    return true;
  }

  /** A part of the image that exists. */
  private record Extent(long offset, long length) {}
}
