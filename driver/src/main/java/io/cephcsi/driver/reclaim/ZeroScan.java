package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.ImageInfo;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.reclaim.fs.InspectionStopped;
import io.cephcsi.driver.volume.Extent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.LongPredicate;
import java.util.function.Supplier;

/**
 * Estimates what sparsify would leave: reads all allocated data and looks for zeroes. Changes
 * nothing.
 *
 * <p>What a trim would discard before, and what is allocated, are walked side by side: neither is
 * kept in memory. Used by one thread.
 */
final class ZeroScan {
  private static final int READ_BYTES = 4 << 20;
  private static final byte[] ZEROES = new byte[READ_BYTES];

  private final Supplier<Optional<Extent>> extents;
  private final Reader reader;
  private final LongPredicate goOn;
  private final long unit;
  private final long objectSize;
  private final List<Extent> cuts = new ArrayList<>(); // what is discarded of the part
  private Optional<Extent> extent = Optional.empty();
  private Optional<Extent> part = Optional.empty();
  private UnitCounter counter = new UnitCounter(0, 1, 1);
  private long kept;

  /** Reads data that may have zeroes. */
  interface Reader {
    byte[] read(long offset, int length);
  }

  /**
   * @param extents what is allocated, ascending
   * @param goOn told before each part how far it is, in bytes; whether to go on
   * @param unit what is freed as a whole, in bytes
   */
  ZeroScan(
      Supplier<Optional<Extent>> extents,
      Reader reader,
      LongPredicate goOn,
      long unit,
      long objectSize) {
    this.extents = extents;
    this.reader = reader;
    this.goOn = goOn;
    this.unit = unit;
    this.objectSize = objectSize;
    next();
  }

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
    boolean sparsifies = trim.method(plan, image).sparsifies();
    AllocatedExtents extents =
        new AllocatedExtents(image, info, !plan.exactUsage(), operation::isCancelled);
    try {
      ZeroScan scan =
          new ZeroScan(
              extents::next,
              sparsifies ? image::read : ZeroScan::kept,
              done -> {
                operation.progress(done, info.size());
                return !operation.isCancelled();
              },
              unit,
              info.objectSize());
      trim.plan()
          .ifPresent(
              ranges -> ranges.forEach((offset, length, whole) -> scan.discard(offset, length)));
      return OptionalLong.of(scan.finish());
    } catch (InspectionStopped e) {
      return OptionalLong.empty();
    }
  }

  /** Any data but zeroes. */
  private static byte[] kept(long offset, int length) {
    byte[] data = new byte[length];
    Arrays.fill(data, (byte) 1);
    return data;
  }

  /** Takes the next range that is discarded; they ascend. */
  void discard(long offset, long length) {
    long end = offset + length;
    while (part.isPresent() && part.get().offset() < end) {
      long from = Math.max(offset, part.get().offset());
      long to = Math.min(end, part.get().end());
      if (from < to) {
        cuts.add(new Extent(from, to - from));
      }
      if (part.get().end() > end) {
        return; // the next range may cut it, too
      }
      count();
      next();
    }
  }

  /** Looks at the rest, and tells the usage. */
  long finish() {
    while (part.isPresent()) {
      count();
      next();
    }
    return kept;
  }

  private void next() {
    long at = part.map(Extent::end).orElse(0L);
    if (part.isEmpty() || at == extent.map(Extent::end).orElse(0L)) {
      extent = extents.get();
      at = extent.map(Extent::offset).orElse(at);
      counter = new UnitCounter(at, unit, objectSize);
    }
    long from = at;
    part = extent.map(e -> new Extent(from, Math.min(READ_BYTES, e.end() - from)));
    cuts.clear();
  }

  /** Counts the part as it would be after the trim. */
  private void count() {
    Extent now = part.orElseThrow();
    if (!goOn.test(now.offset())) {
      throw new InspectionStopped();
    }
    int length = (int) now.length();
    boolean gone = cuts.stream().mapToLong(Extent::length).sum() == length;
    byte[] data = gone ? new byte[length] : reader.read(now.offset(), length);
    for (Extent cut : cuts) {
      int from = (int) (cut.offset() - now.offset());
      Arrays.fill(data, from, from + (int) cut.length(), (byte) 0);
    }
    counter.count(data);
    if (now.end() == extent.orElseThrow().end()) {
      kept += counter.finish();
    }
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
