package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Free ranges of FAT, exFAT and swap areas against what their tools say; then all of them are
 * overwritten, and the check programs and all files have to be as before. Needs root.
 */
class DosFileSystemsIT {
  private Path directory;

  @BeforeAll
  static void needsTools() {
    Shell.require(
        "mkfs.fat", "fsck.fat", "mshowfat", "mkfs.exfat", "dump.exfat", "mount.exfat-fuse");
  }

  @BeforeEach
  void makeDirectory() throws IOException {
    directory = Campaign.makeDirectory();
  }

  @AfterEach
  void removeDirectory() {
    Campaign.remove(directory);
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
    return DynamicTest.dynamicTest(
        sample.toString(),
        () -> {
          Path image = directory.resolve("image");
          try {
            Random random = new Random(seed);
            check(sample, image, sample.make(image, directory, random), random);
          } catch (AssertionError e) {
            throw new AssertionError(sample + ", seed " + seed + ": " + e.getMessage(), e);
          }
        });
  }

  private void check(DosSample sample, Path image, String said, Random random) throws IOException {
    DosTools.check(sample.kind(), image);
    long started = System.nanoTime();
    List<FreeRange> free = inspect(image);
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
    DosTools.overwrite(image, free, random);
    DosTools.check(sample.kind(), image);
    if (sample.filled()) {
      sample.extract(image, directory, directory.resolve("after"));
      Shell.run("diff", "-r", directory + "/before", directory + "/after");
    }
    assertThat(inspect(image)).isEqualTo(free);
    System.out.printf("%s: %d ranges, %d us%n", sample, free.size(), micros);
  }

  private static List<FreeRange> inspect(Path image) throws IOException {
    try (ImageFile file = new ImageFile(image)) {
      Inspection inspection = FileSystems.inspect(file);
      assertThat(inspection).isInstanceOf(Inspection.Clean.class);
      return Ranges.of((Inspection.Clean) inspection);
    }
  }
}
