package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Free ranges against those of dumpe2fs and xfs_db, block for block, on file systems of the real
 * mkfs programs, filled by real mounts. Needs root.
 */
class FileSystemsIT extends ImageCase {
  @BeforeAll
  static void needsTools() {
    Shell.require("mkfs.ext4", "dumpe2fs", "resize2fs", "debugfs", "mkfs.xfs", "xfs_db", "mount");
  }

  @TestFactory
  Stream<DynamicTest> listsWhatTheToolsList() {
    return Samples.chosen().stream().map(sample -> test(sample, Campaign.SEED));
  }

  @TestFactory
  Stream<DynamicTest> listsWhatTheToolsListWithRandomOptions() {
    Random seeds = new Random(Campaign.SEED);
    return Stream.generate(seeds::nextLong)
        .limit(Campaign.full() ? 250 : 4)
        .map(seed -> test(Samples.random(new Random(seed)), seed));
  }

  private DynamicTest test(Sample sample, long seed) {
    return test(
        sample,
        seed,
        () -> {
          sample.make(image, mountPoint, new Random(seed));
          check(sample, image);
        });
  }

  private static void check(Sample sample, Path image) throws IOException {
    try (ImageFile file = new ImageFile(image)) {
      long started = System.nanoTime();
      Inspection inspection = FileSystems.inspect(file);
      long micros = (System.nanoTime() - started) / 1000;
      if (inspection instanceof Inspection.Refused && !sample.xfs() && isDamaged(image)) {
        System.out.println(sample + ": rightly refused, the tools left it damaged: " + inspection);
        return;
      }
      assertThat(inspection).isInstanceOf(Inspection.Clean.class);
      Inspection.Clean clean = (Inspection.Clean) inspection;
      List<FreeRange> expected =
          sample.xfs() ? Ranges.ofXfsDb(image.toString()) : Ranges.ofDumpe2fs(image.toString());
      assertThat(Ranges.of(clean)).isEqualTo(expected);
      assertThat(clean.omittedBytes()).isZero();
      long bytes = file.reads().stream().mapToLong(ImageFile.Extent::length).sum();
      System.out.printf(
          "%s: %d ranges, %d reads of %d KiB, %d us%n",
          sample, expected.size(), file.reads().size(), bytes >> 10, micros);
    }
  }

  /**
   * Whether e2fsck finds errors: resize2fs 1.47.0 for one, when it grows a file system with
   * sparse_super2 and resize_inode, frees the block bitmap of the group that was last.
   */
  private static boolean isDamaged(Path image) {
    return Shell.stream(List.of("e2fsck", "-fn", image.toString()), line -> {}) >= 4;
  }
}
