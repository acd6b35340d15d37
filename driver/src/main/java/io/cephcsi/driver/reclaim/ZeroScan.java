package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.ImageInfo;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.operation.Operation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Foretells what sparsify would leave: reads all that is allocated and looks for zeroes. Nothing is
 * changed.
 */
final class ZeroScan {
  private static final int READ_BYTES = 4 << 20;
  private static final byte[] ZEROES = new byte[READ_BYTES];

  private ZeroScan() {}

  /**
   * The usage after trim and sparsify.
   *
   * @param trim what the trim would discard before, if anything
   * @return empty when the image is striped, so that its objects are not ranges of it, or when the
   *     driver stops
   */
  static OptionalLong usageAfter(
      RbdImage image, ReclaimPlan plan, Optional<TrimPlan> trim, Operation operation) {
    operation.phase("dry run");
    if (image.stripeCount() > 1) {
      return OptionalLong.empty();
    }
    ImageInfo info = image.info();
    // What is freed shows in the usage by whole objects, or by blocks of the sparse size.
    long unit =
        plan.exactUsage() ? Math.min(plan.sparseSize(), info.objectSize()) : info.objectSize();
    Discards discards = Discards.of(trim);
    List<Extent> extents = allocated(image, info.size(), !plan.exactUsage());
    if (!plan.method().sparsifies()) {
      return OptionalLong.of(extents.stream().mapToLong(e -> e.length() - cut(e, discards)).sum());
    }
    long total = extents.stream().mapToLong(Extent::length).sum();
    long kept = 0;
    long done = 0;
    for (Extent extent : extents) {
      UnitCounter counter = new UnitCounter(extent.offset(), unit);
      for (long at = extent.offset(); at < extent.end(); at += READ_BYTES) {
        if (operation.isCancelled()) {
          return OptionalLong.empty();
        }
        int length = (int) Math.min(READ_BYTES, extent.end() - at);
        Extent part = new Extent(at, length);
        // What is discarded as a whole need not be read.
        byte[] data = cut(part, discards) == length ? new byte[length] : image.read(at, length);
        discard(data, part, discards);
        counter.count(data);
        done += length;
        operation.progress(done, total);
      }
      kept += counter.finish();
    }
    return OptionalLong.of(kept);
  }

  /** How much of an extent is discarded. */
  private static long cut(Extent extent, Discards discards) {
    long[] bytes = {0};
    discards.within(extent.offset(), extent.end(), (from, to) -> bytes[0] += to - from);
    return bytes[0];
  }

  private static void discard(byte[] data, Extent extent, Discards discards) {
    discards.within(
        extent.offset(),
        extent.end(),
        (from, to) ->
            Arrays.fill(
                data, (int) (from - extent.offset()), (int) (to - extent.offset()), (byte) 0));
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

  private static boolean isZero(byte[] data, int from, int to) {
    return Arrays.equals(data, from, to, ZEROES, 0, to - from);
  }

  /** A range of the image in bytes. */
  private record Extent(long offset, long length) {
    long end() {
      return offset + length;
    }
  }

  /** Counts the bytes of units, aligned ranges of the image, that are not all zero. */
  private static final class UnitCounter {
    private final long unit;
    private long at;
    private long unitStart;
    private boolean nonZero;
    private long kept;

    UnitCounter(long offset, long unit) {
      this.unit = unit;
      this.at = offset;
      this.unitStart = offset;
    }

    /** Takes the bytes that follow. */
    void count(byte[] data) {
      int i = 0;
      while (i < data.length) {
        int end = (int) Math.min(data.length, i + unit - at % unit);
        nonZero = nonZero || !isZero(data, i, end);
        at += end - i;
        i = end;
        if (at % unit == 0) {
          closeUnit();
        }
      }
    }

    private void closeUnit() {
      kept += nonZero ? at - unitStart : 0;
      unitStart = at;
      nonZero = false;
    }

    long finish() {
      closeUnit();
      return kept;
    }
  }
}
