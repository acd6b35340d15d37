package io.cephcsi.driver.rbd.diff;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rbd.DiffVisitor;
import io.cephcsi.driver.volume.Extent;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class DiffWindowsTest {
  private static final int MOST = 100;
  private static final long GIB = 1L << 30;

  private final List<List<Extent>> windows = new ArrayList<>();
  private final List<Long> lengths = new ArrayList<>();
  private int told;

  /** An image that has extents of one length at multiples of another one, told backwards. */
  private DiffWindows.Diff every(long distance, long length) {
    return (offset, range, visitor) -> {
      lengths.add(range);
      long last = (offset + range - 1) / distance * distance;
      for (long at = last; at >= offset; at -= distance) {
        told++;
        if (!visitor.extent(at, length, true)) {
          return false;
        }
      }
      return true;
    };
  }

  private List<Extent> walk(long from, long size, DiffWindows.Diff diff) {
    new DiffWindows(MOST).walk(from, size, diff, () -> {}, windows::add);
    return windows.stream().flatMap(List::stream).toList();
  }

  private static List<Extent> expected(long from, long size, long distance, long length) {
    return LongStream.iterate(from, at -> at < size, at -> at + distance)
        .mapToObj(at -> new Extent(at, length))
        .toList();
  }

  @Test
  void aWindowOfManyExtentsIsMadeSmaller() {
    long size = 64 << 20;
    assertThat(walk(0, size, every(8192, 4096))).isEqualTo(expected(0, size, 8192, 4096));
    assertThat(windows).hasSizeGreaterThan(80).allMatch(window -> window.size() <= MOST);
    assertThat(told).as("windows that were left are few").isLessThan(4 * 8192);
  }

  @Test
  void behindManyExtentsWindowsGrowAgain() {
    DiffWindows.Diff dense = every(8192, 4096);
    DiffWindows.Diff sparse = every(GIB, 4096);
    walk(
        0,
        100 * GIB,
        (offset, length, visitor) ->
            (offset < GIB / 64 ? dense : sparse).in(offset, length, visitor));
    assertThat(windows).hasSizeLessThan(80);
    assertThat(lengths.get(lengths.size() - 1)).isEqualTo(4 * GIB);
  }

  @Test
  void itBeginsAndEndsAnywhere() {
    long from = 5L << 20;
    long size = (37L << 20) + 4096;
    assertThat(walk(from, size, every(8192, 512))).isEqualTo(expected(from, size, 8192, 512));
    assertThat(lengths).allMatch(length -> length <= size - from);
  }

  @Test
  void theShortestWindowIsTakenWhateverItHas() {
    assertThat(walk(0, 16384, every(2, 1))).isEqualTo(expected(0, 16384, 2, 1));
    assertThat(windows).hasSize(4).allMatch(window -> window.size() == 2048);
  }

  @Test
  void nothingIsNoWindow() {
    DiffWindows.Diff fails =
        (long offset, long length, DiffVisitor visitor) -> {
          throw new AssertionError("nothing is there");
        };
    assertThat(walk(4096, 4096, fails)).isEmpty();
  }
}
