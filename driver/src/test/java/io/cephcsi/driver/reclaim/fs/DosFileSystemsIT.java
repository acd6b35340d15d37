package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Free ranges of FAT, exFAT and swap areas against what their tools say; then all of them are
 * overwritten, and the check programs and all files have to be as before. Needs root.
 */
class DosFileSystemsIT extends ImageCase {
  @BeforeAll
  static void needsTools() {
    Shell.require(
        "mkfs.fat", "fsck.fat", "mshowfat", "mkfs.exfat", "dump.exfat", "mount.exfat-fuse");
  }

  @TestFactory
  Stream<DynamicTest> listsWhatTheToolsCount() {
    return DosSample.chosen().stream().map(sample -> test(sample, Campaign.SEED));
  }

  @TestFactory
  Stream<DynamicTest> listsWhatTheToolsCountWithRandomOptions() {
    Random seeds = new Random(Campaign.SEED);
    return Stream.generate(seeds::nextLong)
        .limit(Campaign.full() ? 250 : 6)
        .map(seed -> test(DosSample.random(new Random(seed)), seed));
  }

  private DynamicTest test(DosSample sample, long seed) {
    return test(
        sample,
        seed,
        () -> {
          Random random = new Random(seed);
          check(sample, sample.make(image, directory, random), random);
        });
  }

  private void check(DosSample sample, String said, Random random) throws IOException {
    DosTools.check(sample.kind(), image);
    long started = System.nanoTime();
    List<FreeRange> free = inspect();
    long micros = (System.nanoTime() - started) / 1000;
    long sum = free.stream().mapToLong(FreeRange::length).sum();
    switch (sample.kind()) {
      case FAT -> assertThat(free).isEqualTo(DosTools.ofFat(image.toString()));
      case EXFAT -> assertThat(sum).isEqualTo(DosTools.freeBytesOfExfat(image.toString()));
      default -> assertThat(sum).isEqualTo(DosTools.freeBytesOfSwap(said));
    }
    if (sample.filled()) {
      sample.extract(image, directory, directory.resolve("before"));
    }
    Garbage.write(image, free, 8 << 20, random);
    DosTools.check(sample.kind(), image);
    if (sample.filled()) {
      sample.extract(image, directory, directory.resolve("after"));
      Shell.run("diff", "-r", directory + "/before", directory + "/after");
    }
    assertThat(inspect()).isEqualTo(free);
    System.out.printf("%s: %d ranges, %d us%n", sample, free.size(), micros);
  }

  private List<FreeRange> inspect() throws IOException {
    try (ImageFile file = new ImageFile(image)) {
      Inspection inspection = FileSystems.inspect(file);
      assertThat(inspection).isInstanceOf(Inspection.Clean.class);
      return Ranges.of((Inspection.Clean) inspection);
    }
  }
}
