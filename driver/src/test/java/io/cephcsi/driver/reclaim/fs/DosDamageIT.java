package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Damage of whatever an inspection of FAT, exFAT or a swap area reads, in one copy, or in all of
 * them with checksums and counters made right: what is in use is never listed as free.
 */
class DosDamageIT extends ImageCase {
  @BeforeAll
  static void needsTools() {
    Shell.require("mkfs.fat", "mcopy", "mkfs.exfat", "mount.exfat-fuse", "mkswap");
  }

  @ParameterizedTest
  @CsvSource({
    "mkfs.fat -F 12 -s 4, 4096",
    "mkfs.fat -F 12 -s 1 -f 1, 1904",
    "mkfs.fat -F 16, 40960",
    "mkfs.fat -F 16 -f 1 -r 128, 20480",
    "mkfs.fat -F 32 -s 1, 60000",
    "mkfs.fat -F 32 -s 1 -f 1, 60000",
    "mkfs.exfat, 65536",
    "mkfs.exfat -c 512, 8192",
    "mkswap, 65536"
  })
  void neverListsUsedSpace(String mkfs, int kibibytes) throws IOException {
    Random random = new Random(Campaign.SEED);
    DosSample sample = DosSample.of(mkfs, kibibytes);
    sample.make(image, directory, random);
    Verdicts single = new Verdicts();
    Verdicts forged = new Verdicts();
    try (ImageFile file = new ImageFile(image)) {
      List<FreeRange> free = Ranges.of((Inspection.Clean) FileSystems.inspect(file));
      List<ImageFile.Extent> read = new ArrayList<>(file.reads());
      read.subList(0, Math.min(2, read.size())).clear();
      read.add(new ImageFile.Extent(0, sample.kind() == FileSystemKind.SWAP ? 4096 : 512));
      for (int i = 0; i < (Campaign.full() ? 2000 : 100); i++) {
        single.judge(new Mutant(file).damage(read, random), free);
      }
      for (int i = 0; i < (Campaign.full() ? 2000 : 100); i++) {
        Mutant mutant = new Mutant(file);
        if (sample.kind() == FileSystemKind.SWAP) {
          mutant.flip(1024 + random.nextInt(48), 1 << random.nextInt(8));
        } else {
          forge(mutant, read, random);
        }
        forged.judge(mutant, free);
      }
    }
    System.out.println(sample + ": one copy " + single + ", all copies " + forged);
  }

  private static void forge(Mutant mutant, List<ImageFile.Extent> read, Random random)
      throws IOException {
    DosBytes bytes = new DosBytes(mutant);
    int kind = random.nextInt(3);
    if (kind == 0) {
      bytes.forgeBoot(random.nextInt(bytes.exfat() ? 120 : 90), 1 << random.nextInt(8));
    } else if (kind == 1) {
      int cluster = random.nextInt(Math.min(bytes.clusters(), 4000)) + 2;
      int old = bytes.entry(cluster);
      int value =
          switch (random.nextInt(5)) {
            case 0 -> 0;
            case 1 -> bytes.bits() == 32 ? 0x0fffffff : (1 << bytes.bits()) - 1;
            case 2 -> old ^ 1 << random.nextInt(bytes.bits());
            case 3 -> (old + 1) & ((1 << (bytes.bits() - 1)) - 1);
            default -> 2 + random.nextInt(bytes.clusters());
          };
      bytes.setEntry(cluster, value);
    } else if (!forgeEntry(mutant, read.get(random.nextInt(read.size())), bytes, random)) {
      forge(mutant, read, random);
    }
  }

  /** Changes a bit of a directory entry; in exFAT with the checksum of its set made right. */
  private static boolean forgeEntry(
      Mutant mutant, ImageFile.Extent extent, DosBytes bytes, Random random) throws IOException {
    if (extent.length() < 64 || (extent.offset() < bytes.root() && extent.offset() > 0)) {
      return false;
    }
    long at = extent.offset() + random.nextInt(Math.min(extent.length(), 2048) / 32) * 32L;
    if (!bytes.exfat()) {
      mutant.flip(at + random.nextInt(32), 1 << random.nextInt(8));
      return true;
    }
    ByteBuffer entry = mutant.peek(at, 32);
    int count = entry.get(1);
    if ((entry.get(0) & 0xff) != 0x85 || count < 2 || count > 18) {
      return false;
    }
    // Its stream extension has all that matters.
    mutant.flip(
        at + (random.nextInt(4) == 0 ? 0 : 32) + random.nextInt(32), 1 << random.nextInt(8));
    bytes.sumSet(at);
    return true;
  }

  @ParameterizedTest
  @CsvSource({
    "mkfs.fat -F 12, 4096",
    "mkfs.fat -F 16, 40960",
    "mkfs.fat -F 32 -s 1, 60000",
    "mkfs.exfat, 65536",
    "mkswap, 65536"
  })
  void refusesTruncatedImages(String mkfs, int kibibytes) throws IOException {
    Random random = new Random(Campaign.SEED);
    DosSample.of(mkfs, kibibytes).make(image, directory, random);
    try (ImageFile file = new ImageFile(image)) {
      long used = ((Inspection.Clean) FileSystems.inspect(file)).totalBytes();
      List<Long> sizes = new ArrayList<>(List.of(0L, 1L, 511L, 512L, 1024L, 4096L, used - 1));
      random.longs(100, 0, used).forEach(sizes::add);
      Verdicts.assertRefusedWhenCut(file, sizes);
    }
  }
}
