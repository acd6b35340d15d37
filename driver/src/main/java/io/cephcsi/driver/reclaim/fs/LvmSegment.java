package io.cephcsi.driver.reclaim.fs;

import java.util.List;

/**
 * A segment of a logical volume: chunks that lie in turn in areas of the physical volume. A linear
 * segment has one area, and is one chunk. All in bytes.
 *
 * @param start on the logical volume
 * @param length of all areas together, a multiple of {@code chunk} times their number
 * @param chunk a multiple of a sector
 * @param areas where each starts on the physical volume
 */
record LvmSegment(long start, long length, long chunk, List<Long> areas) {

  LvmSegment {
    areas = List.copyOf(areas);
  }

  long end() {
    return start + length;
  }

  long areaLength() {
    return length / areas.size();
  }

  /** Where a byte of the logical volume, which is in this segment, lies on the physical one. */
  long physical(long logical) {
    long within = logical - start;
    long number = within / chunk;
    int area = (int) (number % areas.size());
    return areas.get(area) + number / areas.size() * chunk + within % chunk;
  }

  /** How many bytes from there on lie in one piece. */
  long contiguous(long logical) {
    return chunk - (logical - start) % chunk;
  }

  /** How many bytes of an area come before a place of the segment, given from its start. */
  long before(long within, int area) {
    long row = chunk * areas.size();
    long rest = within % row - area * chunk;
    return within / row * chunk + Math.max(0, Math.min(rest, chunk));
  }
}
