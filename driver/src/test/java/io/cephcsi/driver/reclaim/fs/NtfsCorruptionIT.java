package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Damaged NTFS: there is an answer, and it never lists what the undamaged volume has in use. */
class NtfsCorruptionIT {
  private Path directory;
  private Path image;
  private Path mountPoint;

  @BeforeAll
  static void needsTools() {
    NtfsSample.needsTools();
  }

  @BeforeEach
  void makeDirectory() throws IOException {
    directory = Campaign.makeDirectory();
    image = directory.resolve("image");
    mountPoint = directory.resolve("mnt");
  }

  @AfterEach
  void removeDirectory() {
    Campaign.remove(directory);
  }

  @ParameterizedTest
  @CsvSource({"-c 4096, 60000, 150", "-c 512, 9000, 200", "-s 4096 -c 65536, 90000, 60"})
  void neverListsUsedSpaceOfDamagedMetadata(String options, int kilobytes, int files)
      throws IOException {
    Random random = new Random(Campaign.SEED);
    NtfsSample sample = NtfsSample.of(options, kilobytes, files);
    sample.make(image, mountPoint, random);
    Map<String, Integer> verdicts = new TreeMap<>();
    try (ImageFile file = new ImageFile(image)) {
      List<FreeRange> free = Ranges.of((Inspection.Clean) FileSystems.inspect(file));
      assertThat(free).isEqualTo(NtfsSample.free(image));
      List<ImageFile.Extent> read = relevant(file.reads());
      List<Long> records = new NtfsLayout(file).recordsInUse();
      for (int i = 0; i < (Campaign.full() ? 5000 : 250); i++) {
        judge(damaged(file, read, random), free, verdicts);
      }
      for (int i = 0; i < (Campaign.full() ? 5000 : 250); i++) {
        judge(damagedRecord(file, records, random), free, verdicts);
      }
      for (int i = 0; i < (Campaign.full() ? 1000 : 50); i++) {
        judge(damagedBoot(file, random), free, verdicts);
      }
    }
    System.out.println(sample + ": " + verdicts);
  }

  /** What was read, without the search for signatures at the start and the end. */
  private static List<ImageFile.Extent> relevant(List<ImageFile.Extent> reads) {
    List<ImageFile.Extent> extents = new ArrayList<>(reads.subList(2, reads.size()));
    extents.add(new ImageFile.Extent(0, 512));
    return extents;
  }

  private static Mutant damaged(ImageFile file, List<ImageFile.Extent> read, Random random)
      throws IOException {
    Mutant mutant = new Mutant(file);
    ImageFile.Extent extent = read.get(random.nextInt(read.size()));
    long at = extent.offset() + random.nextInt(extent.length());
    switch (random.nextInt(5)) {
      case 1 -> mutant.flip(at, 1 + random.nextInt(255));
      case 2 -> {
        for (int i = 0; i < 8; i++) {
          mutant.flip(extent.offset() + random.nextInt(extent.length()), random.nextInt(256));
        }
      }
      case 3 -> mutant.patch(at / 512 * 512, ByteBuffer.allocate(512));
      case 4 -> {
        ImageFile.Extent other = read.get(random.nextInt(read.size()));
        mutant.patch(at / 512 * 512, mutant.peek(other.offset() / 512 * 512, 512));
      }
      default -> mutant.flip(at, 1 << random.nextInt(8));
    }
    return mutant;
  }

  /** Up to three bytes of a record in use: nothing protects them. */
  private static Mutant damagedRecord(ImageFile file, List<Long> records, Random random) {
    Mutant mutant = new Mutant(file);
    long record = records.get(random.nextInt(random.nextBoolean() ? 16 : records.size()));
    for (int i = random.nextInt(3); i >= 0; i--) {
      mutant.flip(record + random.nextInt(500), 1 << random.nextInt(8));
    }
    return mutant;
  }

  /** The same bit in the boot sector and its copy. */
  private static Mutant damagedBoot(ImageFile file, Random random) {
    int at = random.nextInt(0x54);
    int bit = 1 << random.nextInt(8);
    long copy = new Mutant(file).size();
    for (int sector = 512; sector <= 4096; sector *= 2) {
      copy = copyAt(file, sector, copy);
    }
    return new Mutant(file).flip(at, bit).flip(copy + at, bit);
  }

  private static long copyAt(ImageFile file, int sector, long otherwise) {
    long at = file.size() / sector * sector - sector;
    try {
      Mutant reader = new Mutant(file);
      boolean found = reader.peek(at + 3, 8).equals(reader.peek(3, 8));
      return found ? at : otherwise;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void judge(Mutant mutant, List<FreeRange> free, Map<String, Integer> verdicts) {
    Inspection inspection;
    try {
      inspection = FileSystems.inspect(mutant);
    } catch (IOException | RuntimeException e) {
      throw new AssertionError("seed " + Campaign.SEED + ", " + mutant, e);
    }
    if (inspection instanceof Inspection.Refused refused) {
      verdicts.merge(refused.reason().name(), 1, Integer::sum);
    } else if (inspection instanceof Inspection.Clean clean) {
      List<FreeRange> listed = Ranges.of(clean);
      assertThat(Ranges.outsideOf(free, listed))
          .as("used space listed as free: seed %d, %s", Campaign.SEED, mutant)
          .isEmpty();
      verdicts.merge(listed.equals(free) ? "same" : "subset", 1, Integer::sum);
    }
  }

  @Test
  void refusesTruncatedImages() throws IOException {
    NtfsSample.of("-c 4096", 30_000, 30).make(image, mountPoint, new Random(Campaign.SEED));
    try (ImageFile file = new ImageFile(image)) {
      long size = file.size();
      List<Long> sizes = new ArrayList<>(List.of(0L, 1L, 511L, 512L, 8192L, size - 512, size - 1));
      new Random(Campaign.SEED).longs(200, 0, size).forEach(sizes::add);
      for (long cut : sizes) {
        assertThat(FileSystems.inspect(new Mutant(file).cutTo(cut)))
            .as("cut to %d bytes", cut)
            .isInstanceOf(Inspection.Refused.class);
      }
    }
  }
}
