package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.ImageInfo;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.operation.Operation;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Foretells what sparsify would leave: reads all that is allocated and looks for zeroes. Nothing is
 * changed.
 */
final class ZeroScan {
  private static final int READ_BYTES = 4 << 20;

  private ZeroScan() {}

  /**
   * The usage after sparsify.
   *
   * @return empty when the image is striped, so that its objects are not ranges of it, or when the
   *     driver stops
   */
  static OptionalLong usageAfter(RbdImage image, ReclaimPlan plan, Operation operation) {
    operation.phase("dry run");
    if (image.stripeCount() > 1) {
      return OptionalLong.empty();
    }
    ImageInfo info = image.info();
    // What is freed shows in the usage by whole objects, or by blocks of the sparse size.
    long unit =
        plan.exactUsage() ? Math.min(plan.sparseSize(), info.objectSize()) : info.objectSize();
    List<Extent> extents = allocated(image, info.size(), !plan.exactUsage());
    long total = extents.stream().mapToLong(Extent::length).sum();
    long kept = 0;
    long done = 0;
    for (Extent extent : extents) {
      for (long at = extent.offset(); at < extent.end(); ) {
        if (operation.isCancelled()) {
          return OptionalLong.empty();
        }
        long end = Math.min(extent.end(), (at / unit + 1) * unit);
        kept += isZero(image, at, end) ? 0 : end - at;
        done += end - at;
        operation.progress(done, total);
        at = end;
      }
    }
    return OptionalLong.of(kept);
  }

  private static List<Extent> allocated(RbdImage image, long size, boolean wholeObjects) {
    List<Extent> extents = new ArrayList<>();
    image.diff(
        Optional.empty(),
        0,
        size,
        false,
        wholeObjects,
        (offset, length, exists) -> {
          if (exists) {
            extents.add(new Extent(offset, length));
          }
          return true;
        });
    return extents;
  }

  private static boolean isZero(RbdImage image, long from, long to) {
    for (long at = from; at < to; at += READ_BYTES) {
      for (byte b : image.read(at, (int) Math.min(READ_BYTES, to - at))) {
        if (b != 0) {
          return false;
        }
      }
    }
    return true;
  }

  /** A range of the image in bytes. */
  private record Extent(long offset, long length) {
    long end() {
      return offset + length;
    }
  }
}
