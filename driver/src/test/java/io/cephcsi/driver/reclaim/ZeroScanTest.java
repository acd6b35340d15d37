package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.reclaim.fs.InspectionStopped;
import io.cephcsi.driver.volume.Extent;
import io.cephcsi.testing.Tries;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongPredicate;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Extents and discards side by side, against a scan of all that has both in memory. */
class ZeroScanTest {
  private static final int OBJECT = 1 << 16;
  private static final int OBJECTS = 24;
  private static final int UNIT = 1 << 12;

  private static ZeroScan scan(
      Iterator<Extent> extents, ZeroScan.Reader reader, LongPredicate goOn, int objectSize) {
    return new ZeroScan(
        () -> extents.hasNext() ? Optional.of(extents.next()) : Optional.empty(),
        reader,
        goOn,
        UNIT,
        objectSize);
  }

  @Test
  void keepsWhatIsNeitherZeroNorDiscarded() {
    Tries.times(
        300,
        values -> {
          byte[] image = new byte[OBJECTS * OBJECT];
          for (int at = 0; at < image.length; at += UNIT) {
            Arrays.fill(image, at, at + UNIT, (byte) values.between(0, 2));
          }
          List<Extent> extents = new ArrayList<>();
          for (int at = 0; at < OBJECTS; at += values.between(1, 3)) {
            extents.add(new Extent((long) at * OBJECT, OBJECT));
          }
          List<Extent> discards = new ArrayList<>();
          int step = values.between(1, 40);
          for (long at = (long) values.between(0, 9) * UNIT; at < image.length; ) {
            long length = Math.min(image.length - at, (long) values.between(1, step) * UNIT);
            discards.add(new Extent(at, length));
            at += length + (long) values.between(0, step) * UNIT;
          }
          byte[] after = image.clone();
          discards.forEach(d -> Arrays.fill(after, (int) d.offset(), (int) d.end(), (byte) 0));

          ZeroScan scan =
              scan(
                  extents.iterator(),
                  (offset, length) ->
                      Arrays.copyOfRange(image, (int) offset, (int) offset + length),
                  done -> true,
                  OBJECT);
          discards.forEach(d -> scan.discard(d.offset(), d.length()));
          assertThat(scan.finish()).isEqualTo(expected(after, extents));
        });
  }

  /** Each object up to its last unit that is not zero. */
  private static long expected(byte[] after, List<Extent> extents) {
    long kept = 0;
    for (Extent extent : extents) {
      int length = (int) extent.length();
      while (length > 0 && after[(int) extent.offset() + length - 1] == 0) {
        length--;
      }
      kept += (length + UNIT - 1L) / UNIT * UNIT;
    }
    return kept;
  }

  /** As lists they could take more than there is. */
  @Test
  void extentsAreTakenOneByOneAsTheDiscardsReachThem() {
    int count = 100_000;
    AtomicInteger taken = new AtomicInteger();
    Iterator<Extent> extents =
        LongStream.range(0, count)
            .mapToObj(
                i -> {
                  taken.incrementAndGet();
                  return new Extent(2L * i * UNIT, UNIT);
                })
            .iterator();
    AtomicInteger reads = new AtomicInteger();
    ZeroScan scan =
        scan(
            extents,
            (offset, length) -> {
              reads.incrementAndGet();
              return new byte[length];
            },
            done -> true,
            UNIT);
    for (int i = 0; i < count; i++) {
      scan.discard(2L * i * UNIT, UNIT);
      assertThat(taken.get() - i).isBetween(1, 3);
    }
    assertThat(scan.finish()).isZero();
    assertThat(reads).as("what is discarded is not read").hasValue(0);
  }

  @Test
  void endsBetweenTwoParts() {
    AtomicInteger asked = new AtomicInteger();
    ZeroScan scan =
        scan(
            List.of(new Extent(0, 100L << 20)).iterator(),
            (offset, length) -> new byte[length],
            done -> asked.incrementAndGet() < 3,
            4 << 20);
    assertThatThrownBy(scan::finish).isInstanceOf(InspectionStopped.class);
    assertThat(asked).hasValue(3);
  }
}
