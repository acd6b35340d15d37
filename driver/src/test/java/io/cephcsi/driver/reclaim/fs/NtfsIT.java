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
 * Free ranges of NTFS against the bitmap that ntfscat prints, cluster for cluster. Then they are
 * overwritten, and all files are still what they were. Needs root and /dev/fuse.
 */
class NtfsIT extends ImageCase {
  @BeforeAll
  static void needsTools() {
    NtfsSample.needsTools();
  }

  @TestFactory
  Stream<DynamicTest> listsWhatTheToolsList() {
    return Stream.of(
            NtfsSample.of("-c 4096", 100 << 10, 200),
            NtfsSample.of("-c 1024", 7_345, 300),
            NtfsSample.of("-s 4096 -c 4096", 50_001, 0),
            NtfsSample.of("-c 65536", 200_000, 60),
            NtfsSample.of("-c 2097152", 2 << 20, 0),
            NtfsSample.of("-c 4096", 300 << 20, 0),
            NtfsSample.of("-c 4096", 30_000, 50)
                .then(
                    "truncate -s 80M $IMAGE; ntfsresize -f -f $IMAGE >/dev/null;"
                        + " ntfsfix -d $IMAGE >/dev/null"))
        .map(sample -> test(sample, Campaign.SEED));
  }

  @TestFactory
  Stream<DynamicTest> listsWhatTheToolsListWithRandomOptions() {
    Random seeds = new Random(Campaign.SEED);
    return Stream.generate(seeds::nextLong)
        .limit(Campaign.full() ? 220 : 2)
        .map(seed -> test(NtfsSample.random(new Random(seed)), seed));
  }

  private DynamicTest test(NtfsSample sample, long seed) {
    return test(
        sample,
        seed,
        () -> {
          Random random = new Random(seed);
          sample.make(image, mountPoint, random);
          check(sample, random);
        });
  }

  private void check(NtfsSample sample, Random random) throws IOException {
    List<FreeRange> expected = NtfsSample.free(image);
    long started = System.nanoTime();
    List<FreeRange> free;
    try (ImageFile file = new ImageFile(image)) {
      Inspection inspection = FileSystems.inspect(file);
      long micros = (System.nanoTime() - started) / 1000;
      assertThat(inspection).isInstanceOf(Inspection.Clean.class);
      free = Ranges.of((Inspection.Clean) inspection);
      assertThat(free).isEqualTo(expected);
      long bytes = file.reads().stream().mapToLong(ImageFile.Extent::length).sum();
      System.out.printf(
          "%s: %d ranges, %d reads of %d KiB, %d us%n",
          sample, free.size(), file.reads().size(), bytes >> 10, micros);
    }
    List<String> before = NtfsSample.contents(image, mountPoint);
    NtfsSample.check(image);
    Garbage.write(image, free, 1 << 20, random);
    assertThat(NtfsSample.contents(image, mountPoint)).isEqualTo(before);
    NtfsSample.check(image);
  }
}
