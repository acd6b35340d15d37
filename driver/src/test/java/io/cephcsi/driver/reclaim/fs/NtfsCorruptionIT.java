package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Damaged NTFS: there is an answer, and it never lists what the undamaged volume has in use. */
class NtfsCorruptionIT extends ImageCase {
  @BeforeAll
  static void needsTools() {
    NtfsSample.needsTools();
  }

  @ParameterizedTest
  @CsvSource({"-c 4096, 60000, 150", "-c 512, 9000, 200", "-s 4096 -c 65536, 90000, 60"})
  void neverListsUsedSpaceOfDamagedMetadata(String options, int kilobytes, int files)
      throws IOException {
    Random random = new Random(Campaign.SEED);
    NtfsSample sample = NtfsSample.of(options, kilobytes, files);
    sample.make(image, mountPoint, random);
    Verdicts verdicts = new Verdicts();
    try (ImageFile file = new ImageFile(image)) {
      List<FreeRange> free = Ranges.of((Inspection.Clean) FileSystems.inspect(file));
      assertThat(free).isEqualTo(NtfsSample.free(image));
      List<ImageFile.Extent> read = relevant(file.reads());
      List<Long> records = new NtfsLayout(file).recordsInUse();
      for (int i = 0; i < (Campaign.full() ? 5000 : 250); i++) {
        verdicts.judge(new Mutant(file).damage(read, random), free);
      }
      for (int i = 0; i < (Campaign.full() ? 5000 : 250); i++) {
        verdicts.judge(damagedRecord(file, records, random), free);
      }
      for (int i = 0; i < (Campaign.full() ? 1000 : 50); i++) {
        verdicts.judge(damagedBoot(file, random), free);
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

  @Test
  void refusesTruncatedImages() throws IOException {
    NtfsSample.of("-c 4096", 30_000, 30).make(image, mountPoint, new Random(Campaign.SEED));
    try (ImageFile file = new ImageFile(image)) {
      long size = file.size();
      List<Long> sizes = new ArrayList<>(List.of(0L, 1L, 511L, 512L, 8192L, size - 512, size - 1));
      new Random(Campaign.SEED).longs(200, 0, size).forEach(sizes::add);
      Verdicts.assertRefusedWhenCut(file, sizes);
    }
  }
}
