package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.reclaim.fs.BtrfsSample.Step;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Damaged and forged metadata of btrfs: no used space is ever listed. */
class BtrfsCorruptionIT extends ImageCase {
  @BeforeAll
  static void needsTools() {
    Shell.require("mkfs.btrfs", "btrfs", "mount");
  }

  private void make(BtrfsSample sample) {
    sample.make(image, mountPoint, new Random(Campaign.SEED));
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

  /** Any damage, or one piece in the place of another. */
  private static Mutant damaged(ImageFile file, List<ImageFile.Extent> read, Random random)
      throws IOException {
    Mutant mutant = new Mutant(file);
    if (random.nextInt(5) > 0) {
      return mutant.damage(read, random);
    }
    ImageFile.Extent extent = read.get(random.nextInt(read.size()));
    ImageFile.Extent other = read.get(random.nextInt(read.size()));
    int length = Math.min(extent.length(), other.length());
    return mutant.patch(extent.offset(), mutant.peek(other.offset(), length));
  }

  @Test
  void refusesTruncatedImages() throws IOException {
    make(BtrfsSample.of("", 300));
    try (ImageFile file = new ImageFile(image)) {
      List<Long> sizes = new ArrayList<>(List.of(0L, 65536L, 69631L, 69632L, file.size() - 1));
      new Random(Campaign.SEED).longs(200, 0, file.size()).forEach(sizes::add);
      Verdicts.assertRefusedWhenCut(file, sizes);
    }
  }
}
