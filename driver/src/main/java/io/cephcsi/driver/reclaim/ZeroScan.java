package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.ImageInfo;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.Extent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Estimates what sparsify would leave: reads all allocated data and looks for zeroes. Changes
 * nothing.
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
      RbdImage image, ReclaimPlan plan, OfflineTrim.Planned trim, Operation operation) {
    operation.phase("dry run");
    if (image.stripeCount() > 1) {
      return OptionalLong.empty();
    }
    ImageInfo info = image.info();
    // What is freed shows in the usage by whole objects, or by blocks of the sparse size.
    long unit = plan.exactUsage() ? SparseSize.of(plan, image) : info.objectSize();
    Discards discards = Discards.of(trim.plan());
    ReclaimMethod method = trim.method(plan, image);
    List<Extent> extents = allocated(image, info.size(), !plan.exactUsage());
    long total = extents.stream().mapToLong(Extent::length).sum();
    long kept = 0;
    long done = 0;
    for (Extent extent : extents) {
      UnitCounter counter = new UnitCounter(extent.offset(), unit, info.objectSize());
      for (long at = extent.offset(); at < extent.end(); at += READ_BYTES) {
        if (operation.isCancelled()) {
          return OptionalLong.empty();
        }
        int length = (int) Math.min(READ_BYTES, extent.end() - at);
        Extent part = new Extent(at, length);
        byte[] data = data(image, part, method, discards);
        counter.count(data);
        done += length;
        operation.progress(done, total);
      }
      kept += counter.finish();
    }
    return OptionalLong.of(kept);
  }

  /** A part as it would be after the trim; what is kept anyway has any data but zeroes. */
  private static byte[] data(RbdImage image, Extent part, ReclaimMethod method, Discards discards) {
    int length = (int) part.length();
    if (cut(part, discards) == length) {
      return new byte[length]; // need not be read
    }
    byte[] data;
    if (method.sparsifies()) {
      data = image.read(part.offset(), length);
    } else {
      data = new byte[length];
      Arrays.fill(data, (byte) 1);
    }
    discard(data, part, discards);
    return data;
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

  /**
   * Counts what a diff shows of objects: each from its beginning to the end of the last of its
   * units, aligned ranges of the image, that is not all zero.
   */
  private static final class UnitCounter {
    private final long unit;
    private final long objectSize;
    private long at;
    private long objectStart;
    private boolean nonZero;
    private long keptOfObject;
    private long kept;

    UnitCounter(long offset, long unit, long objectSize) {
      this.unit = unit;
      this.objectSize = objectSize;
      this.at = offset;
      this.objectStart = offset;
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
        if (at % objectSize == 0) {
          closeObject();
        }
      }
    }

    private void closeUnit() {
      keptOfObject = nonZero ? at - objectStart : keptOfObject;
      nonZero = false;
    }

    private void closeObject() {
      kept += keptOfObject;
      keptOfObject = 0;
      objectStart = at;
    }

    long finish() {
      closeUnit();
      closeObject();
      return kept;
    }
  }
}
