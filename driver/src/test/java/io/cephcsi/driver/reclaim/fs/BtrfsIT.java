package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.reclaim.fs.BtrfsSample.Step;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Free ranges of btrfs against the extents that btrfs-progs lists, and what becomes of the file
 * system when all of them are overwritten. Needs root.
 */
class BtrfsIT extends ImageCase {
  @BeforeAll
  static void needsTools() {
    Shell.require("mkfs.btrfs", "btrfs", "btrfstune", "mount", "fstrim");
  }

  private static List<BtrfsSample> chosen() {
    return List.of(
        BtrfsSample.of("", 300),
        BtrfsSample.of("", 400, Step.FILES, Step.INLINE, Step.SNAPSHOT, Step.DELETE, Step.REFLINK),
        BtrfsSample.of("-m single -n 4096 -R quota", 300, Step.MANY, Step.SCATTER, Step.BALANCE),
        BtrfsSample.of("-R ^free-space-tree", 500, Step.SUBVOLUME, Step.SCATTER, Step.DROP)
            .mounted("space_cache=v1,compress=zstd"),
        BtrfsSample.of("-n 65536 --csum sha256 -d dup", 700, Step.FILES, Step.NO_COW, Step.SHRINK),
        BtrfsSample.of("-O ^no-holes,^skinny-metadata", 300, Step.SCATTER, Step.PREALLOCATED)
            .then("btrfstune -f -m $IMAGE"),
        BtrfsSample.of("", 300 << 10, Step.FILES));
  }

  private static List<BtrfsSample> more() {
    return List.of(
        BtrfsSample.of("-s 16384 -n 16384", 300),
        BtrfsSample.of("-s 65536 -n 65536", 300),
        BtrfsSample.of("", 200, Step.FILES, Step.SINGLE, Step.DUP, Step.SCATTER, Step.DELETE),
        BtrfsSample.of("", 500, Step.QUOTA, Step.SUBVOLUME, Step.DROP, Step.DEFRAGMENT),
        BtrfsSample.of("-n 4096", 900, Step.MANY, Step.SNAPSHOT, Step.MANY, Step.SCATTER),
        BtrfsSample.of("", 400, Step.FILES)
            .then(
                "truncate -s 900M $IMAGE; mount -o loop $IMAGE $MNT;"
                    + " btrfs -q filesystem resize max $MNT; umount $MNT"),
        BtrfsSample.of("", 400, Step.FILES).then("truncate -s 900M $IMAGE"),
        BtrfsSample.of("", 400, Step.FILES).then("btrfstune -f -u $IMAGE >/dev/null"));
  }

  @TestFactory
  Stream<DynamicTest> listsWhatIsInNoExtent() {
    List<BtrfsSample> others = Campaign.full() ? more() : List.of();
    return Stream.concat(chosen().stream(), others.stream())
        .map(sample -> test(sample, Campaign.SEED));
  }

  @TestFactory
  Stream<DynamicTest> listsWhatIsInNoExtentWithRandomOptions() {
    Random seeds = new Random(Campaign.SEED);
    return Stream.generate(seeds::nextLong)
        .limit(Campaign.full() ? 200 : 2)
        .map(seed -> test(BtrfsSample.random(new Random(seed)), seed));
  }

  private DynamicTest test(BtrfsSample sample, long seed) {
    return test(
        sample,
        seed,
        () -> {
          Random random = new Random(seed);
          sample.make(image, mountPoint, random);
          Garbage.write(image, check(sample), 8 << 20, random);
          sample.verify(image, mountPoint);
        });
  }

  private List<FreeRange> check(BtrfsSample sample) throws IOException {
    try (ImageFile file = new ImageFile(image)) {
      long started = System.nanoTime();
      Inspection inspection = FileSystems.inspect(file);
      long micros = (System.nanoTime() - started) / 1000;
      assertThat(inspection).isInstanceOf(Inspection.Clean.class);
      Inspection.Clean clean = (Inspection.Clean) inspection;
      List<FreeRange> free = Ranges.of(clean);
      assertThat(free).isEqualTo(BtrfsDump.free(image));
      assertThat(clean.omittedBytes()).isZero();
      long bytes = file.reads().stream().mapToLong(ImageFile.Extent::length).sum();
      System.out.printf(
          "%s: %d ranges, %d reads of %d KiB, %d us%n",
          sample, free.size(), file.reads().size(), bytes >> 10, micros);
      return free;
    }
  }

  /** The kernel's own trim must leave next to nothing of what is listed, and touch no more. */
  @Test
  void listsWhatTheKernelTrims() throws IOException {
    BtrfsSample sample =
        BtrfsSample.of("", 400, Step.FILES, Step.SCATTER, Step.SNAPSHOT, Step.DELETE);
    sample.make(image, mountPoint, new Random(Campaign.SEED));
    List<FreeRange> free = check(sample);
    Garbage.write(image, free, Long.MAX_VALUE, new Random(Campaign.SEED));
    Path before = directory.resolve("before-trim");
    Shell.script(
        String.format(
            "cp %1$s %3$s; mount -o loop %1$s %2$s; fstrim %2$s; umount %2$s",
            image, mountPoint, before));
    long listed = free.stream().mapToLong(FreeRange::length).sum();
    long[] sums = new long[2];
    try (ImageFile old = new ImageFile(before);
        ImageFile trimmed = new ImageFile(image)) {
      ByteBuffer zeros = ByteBuffer.allocate(4096);
      for (long at = 0; at < old.size(); at += 4096) {
        FreeRange block = new FreeRange(at, 4096);
        boolean isListed = Ranges.outsideOf(free, List.of(block)).isEmpty();
        boolean isTrimmed = read(trimmed, at).equals(zeros);
        if (isListed && !isTrimmed) {
          sums[0] += 4096;
        } else if (!isListed && isTrimmed && !read(old, at).equals(zeros)) {
          sums[1] += 4096;
        }
      }
    }
    System.out.printf(
        "of %d KiB listed fstrim left %d KiB; of the rest it took %d KiB%n",
        listed >> 10, sums[0] >> 10, sums[1] >> 10);
    long tolerance = listed / 50 + (4 << 20);
    assertThat(sums[0]).isLessThan(tolerance);
    assertThat(sums[1]).isLessThan(4 << 20);
    sample.verify(image, mountPoint);
  }

  private static ByteBuffer read(ImageFile file, long at) throws IOException {
    ByteBuffer block = ByteBuffer.allocate(4096);
    file.read(at, block);
    return block.flip();
  }
}
