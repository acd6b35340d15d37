package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.reclaim.fs.BtrfsSample.Step;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Damaged and forged metadata of btrfs: no used space is ever listed. */
class BtrfsCorruptionIT {
  private Path directory;
  private Path image;

  @BeforeAll
  static void needsTools() {
    Shell.require("mkfs.btrfs", "btrfs", "mount");
  }

  @BeforeEach
  void makeDirectory() throws IOException {
    directory = Campaign.makeDirectory();
    image = directory.resolve("image");
  }

  @AfterEach
  void removeDirectory() {
    Campaign.remove(directory);
  }

  private void make(BtrfsSample sample) {
    sample.make(image, directory.resolve("mnt"), new Random(Campaign.SEED));
  }

  @TestFactory
  Stream<DynamicTest> neverListsUsedSpaceOfDamagedMetadata() {
    return Stream.of(
            BtrfsSample.of("", 300, Step.FILES, Step.SCATTER, Step.SNAPSHOT),
            BtrfsSample.of("-n 4096 -m single", 250, Step.MANY, Step.SCATTER, Step.DELETE),
            BtrfsSample.of("--csum sha256 -n 65536 -d dup", 300, Step.FILES, Step.PREALLOCATED),
            BtrfsSample.of("-R ^free-space-tree -n 4096", 250, Step.FILES, Step.SCATTER),
            BtrfsSample.of("-O ^skinny-metadata -R quota", 300, Step.FILES, Step.SUBVOLUME))
        .map(sample -> DynamicTest.dynamicTest(sample.toString(), () -> damageAll(sample)));
  }

  private void damageAll(BtrfsSample sample) throws IOException {
    Random random = new Random(Campaign.SEED);
    make(sample);
    boolean freeSpaceTree = !sample.mkfs().contains("^free-space-tree");
    Verdicts verdicts = new Verdicts();
    try (ImageFile file = new ImageFile(image)) {
      List<FreeRange> free = Ranges.of((Inspection.Clean) FileSystems.inspect(file));
      assertThat(free).isEqualTo(BtrfsDump.free(image));
      List<ImageFile.Extent> read = new ArrayList<>(file.reads());
      read.subList(0, 2).clear();
      BtrfsForger forger = new BtrfsForger(file, read, random);
      for (int i = 0; i < (Campaign.full() ? 2000 : 60); i++) {
        verdicts.judge(damaged(file, read, random), free);
      }
      for (int i = 0; i < (Campaign.full() ? 4000 : 200); i++) {
        verdicts.judge(forger.forgeBlock(freeSpaceTree), free);
      }
      for (int i = 0; i < (Campaign.full() ? 1500 : 80); i++) {
        verdicts.judge(forger.forgeSuperblocks(), free);
      }
      System.out.println(sample + ", " + forger.blocks() + " tree blocks: " + verdicts);
    }
  }

  private static Mutant damaged(ImageFile file, List<ImageFile.Extent> read, Random random)
      throws IOException {
    Mutant mutant = new Mutant(file);
    ImageFile.Extent extent = read.get(random.nextInt(read.size()));
    long at = extent.offset() + random.nextInt(extent.length());
    switch (random.nextInt(5)) {
      case 0 -> mutant.flip(at, 1 << random.nextInt(8));
      case 1 -> mutant.flip(at, 1 + random.nextInt(255));
      case 2 -> {
        for (int i = 0; i < 8; i++) {
          mutant.flip(extent.offset() + random.nextInt(extent.length()), random.nextInt(256));
        }
      }
      case 3 -> mutant.patch(at / 512 * 512, ByteBuffer.allocate(512));
      default -> {
        ImageFile.Extent other = read.get(random.nextInt(read.size()));
        int length = Math.min(extent.length(), other.length());
        mutant.patch(extent.offset(), mutant.peek(other.offset(), length));
      }
    }
    return mutant;
  }

  @Test
  void refusesTruncatedImages() throws IOException {
    make(BtrfsSample.of("", 300));
    try (ImageFile file = new ImageFile(image)) {
      List<Long> sizes = new ArrayList<>(List.of(0L, 65536L, 69631L, 69632L, file.size() - 1));
      new Random(Campaign.SEED).longs(200, 0, file.size()).forEach(sizes::add);
      for (long size : sizes) {
        assertThat(FileSystems.inspect(new Mutant(file).cutTo(size)))
            .as("cut to %d bytes", size)
            .isInstanceOf(Inspection.Refused.class);
      }
    }
  }

  /** Counts the answers by reason. */
  private static final class Verdicts {
    private final Map<String, Integer> counts = new TreeMap<>();

    void judge(Mutant mutant, List<FreeRange> free) {
      Inspection inspection;
      try {
        inspection = FileSystems.inspect(mutant);
      } catch (IOException | RuntimeException e) {
        throw new AssertionError("seed " + Campaign.SEED + ", " + mutant, e);
      }
      if (inspection instanceof Inspection.Refused refused) {
        counts.merge(refused.reason().name(), 1, Integer::sum);
      } else if (inspection instanceof Inspection.Clean clean) {
        List<FreeRange> listed = Ranges.of(clean);
        assertThat(Ranges.outsideOf(free, listed))
            .as("used space listed as free: seed %d, %s", Campaign.SEED, mutant)
            .isEmpty();
        counts.merge(listed.equals(free) ? "same" : "subset", 1, Integer::sum);
      }
    }

    @Override
    public String toString() {
      return counts.toString();
    }
  }
}
