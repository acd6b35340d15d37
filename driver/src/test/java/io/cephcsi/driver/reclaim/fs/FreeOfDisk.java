package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.DiskImage;
import io.cephcsi.driver.testing.DiskImage.Piece;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** What the tools of a disk's file systems say is free of it. Used by one thread. */
final class FreeOfDisk {
  private final List<FreeRange> expected = new ArrayList<>();

  /** Remembers what a tool says that a part has free, where the part lies. */
  void expect(List<Piece> pieces, List<FreeRange> free) {
    for (Piece piece : pieces) {
      for (FreeRange range : free) {
        long from = Math.max(range.offset(), piece.part());
        long end = Math.min(range.end(), piece.part() + piece.length());
        if (from < end) {
          expected.add(new FreeRange(piece.disk() + from - piece.part(), end - from));
        }
      }
    }
  }

  private static List<FreeRange> merged(List<FreeRange> ranges) {
    RangePlan plan = new RangePlan(0, 512, 1 << 20);
    ranges.stream()
        .sorted(Comparator.comparingLong(FreeRange::offset))
        .forEach(range -> plan.add(range.offset() / 512, range.length() / 512));
    List<FreeRange> merged = new ArrayList<>();
    plan.finish().forEach(merged::add);
    return merged;
  }

  /** Requires that a survey lists just that, and answers it. */
  List<FreeRange> check(DiskImage disk) throws IOException {
    List<FreeRange> free = merged(expected);
    try (ImageFile file = new ImageFile(disk.file())) {
      Survey survey = FileSystems.survey(file);
      assertThat(survey.inspection())
          .as("%s", survey.content())
          .isInstanceOf(Inspection.Clean.class);
      assertThat(Ranges.of((Inspection.Clean) survey.inspection())).isEqualTo(free);
      assertThat(survey.content().freeBytes())
          .isEqualTo(free.stream().mapToLong(FreeRange::length).sum());
    }
    return free;
  }
}
