package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** A logical volume as a device, mapped to the physical volume that it lies on. */
final class LvmDevice implements BlockReader {
  private static final int SECTOR = 512;
  private static final int READS_AT_ONCE = 2048;
  private static final int RANGES_BETWEEN_CHECKS = 1 << 16;

  private final Device physical;
  private final List<LvmSegment> segments;

  /**
   * @param segments from byte 0 on without gaps, never empty
   */
  LvmDevice(Device physical, List<LvmSegment> segments) {
    this.physical = physical;
    this.segments = segments;
  }

  @Override
  public long size() {
    return segments.get(segments.size() - 1).end();
  }

  /** Where its first byte lies on the whole device. */
  long start() {
    return physical.start() + segments.get(0).physical(0);
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    readAll(List.of(new Request(offset, into)));
  }

  @Override
  public void readAll(List<Request> reads) throws IOException {
    List<Request> pieces = new ArrayList<>();
    for (Request read : reads) {
      ByteBuffer into = read.into();
      long at = read.offset();
      while (into.hasRemaining()) {
        LvmSegment segment = segmentOf(at);
        int length =
            (int) Math.min(into.remaining(), Math.min(segment.contiguous(at), segment.end() - at));
        pieces.add(new Request(segment.physical(at), into.slice(into.position(), length)));
        into.position(into.position() + length);
        at += length;
        if (pieces.size() == READS_AT_ONCE) {
          physical.readAll(pieces);
          pieces.clear();
        }
      }
    }
    physical.readAll(pieces);
  }

  private LvmSegment segmentOf(long logical) {
    int low = 0;
    int high = segments.size() - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (segments.get(middle).start() <= logical) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return segments.get(low);
  }

  /**
   * Adds the free ranges of what the logical volume holds, as those of the whole device: a plan for
   * each area. Whole sectors only.
   */
  void mapBack(Inspection.Clean clean, RangePlans plans) {
    Mapping mapping = new Mapping(plans);
    clean.freeRanges(mapping);
    mapping.finish();
  }

  /** Splits ranges, which come in the order of the logical volume, over the areas. */
  private final class Mapping implements RangeVisitor {
    private final RangePlans all;
    private int current;
    private List<RangePlan> plans;
    private int added;

    Mapping(RangePlans all) {
      this.all = all;
      this.plans = begin();
    }

    private List<RangePlan> begin() {
      List<RangePlan> begun = new ArrayList<>();
      for (long area : segments.get(current).areas()) {
        RangePlan plan = new RangePlan(physical, area, SECTOR);
        all.add(plan);
        begun.add(plan);
      }
      return begun;
    }

    @Override
    public void visit(FreeRange range) {
      long from = range.offset();
      while (from < range.end()) {
        while (segments.get(current).end() <= from) {
          next();
        }
        LvmSegment segment = segments.get(current);
        long end = Math.min(range.end(), segment.end());
        add(segment, from - segment.start(), end - segment.start());
        from = end;
      }
      if (added >= RANGES_BETWEEN_CHECKS) {
        added = 0;
        all.fit();
      }
    }

    private void add(LvmSegment segment, long from, long end) {
      for (int area = 0; area < plans.size(); area++) {
        long first = (segment.before(from, area) + SECTOR - 1) / SECTOR;
        long last = segment.before(end, area) / SECTOR;
        if (last > first) {
          plans.get(area).add(first, last - first);
          added++;
        }
      }
    }

    private void next() {
      plans.forEach(RangePlan::finish);
      current++;
      plans = begin();
    }

    void finish() {
      plans.forEach(RangePlan::finish);
      all.fit();
    }
  }
}
