package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.reclaim.fs.Sample.Fill;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Damaged metadata: whatever is changed in the bytes that an inspection reads, there is an answer,
 * and it never lists as free what the undamaged file system has in use.
 */
class FileSystemsCorruptionIT extends ImageCase {
  @BeforeAll
  static void needsTools() {
    Shell.require("mkfs.ext4", "mkfs.xfs", "dumpe2fs", "xfs_db", "mount");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "mkfs.ext4; 300; true",
        "mkfs.ext4 -O bigalloc,^has_journal -C 16384; 200; true",
        "mkfs.ext4 -O ^metadata_csum,uninit_bg; 600; false",
        "mkfs.ext4 -O ^metadata_csum,meta_bg,^resize_inode -g 1024; 200; false",
        "mkfs.ext3 -b 1024; 60; false",
        "mkfs.ext2; 500; false",
        "mkfs.xfs -b size=1024; 400; true",
        "mkfs.xfs -m rmapbt=1 -d agcount=8; 900; true",
        "mkfs.xfs -m crc=0; 400; false"
      })
  void neverListsUsedSpaceOfDamagedMetadata(String mkfs, int megabytes, boolean checksums)
      throws IOException {
    Random random = new Random(Campaign.SEED);
    Sample sample = Sample.of(mkfs, megabytes, mkfs.contains("crc=0") ? Fill.EMPTY : Fill.MOUNT);
    sample.make(image, mountPoint, random);
    Verdicts verdicts = new Verdicts();
    try (ImageFile file = new ImageFile(image)) {
      List<FreeRange> free = Ranges.of((Inspection.Clean) FileSystems.inspect(file));
      assertThat(free)
          .isEqualTo(
              sample.xfs()
                  ? Ranges.ofXfsDb(image.toString())
                  : Ranges.ofDumpe2fs(image.toString()));
      List<ImageFile.Extent> read = relevant(file.reads());
      for (int i = 0; i < (Campaign.full() ? 1200 : 70); i++) {
        Mutant mutant = new Mutant(file);
        damage(mutant, read, random, checksums);
        verdicts.judge(mutant, free);
      }
      for (int i = 0; i < (Campaign.full() ? 4000 : 100); i++) {
        verdicts.judge(forgedSuperblock(file, sample.xfs(), random), free);
      }
      for (int i = 0; sample.xfs() && i < (Campaign.full() ? 2000 : 60); i++) {
        verdicts.judge(forgedGroupHeader(file, random), free);
      }
    }
    System.out.println(sample + ": " + verdicts);
  }

  /**
   * What was read, without the search for signatures in the first and last 128 KiB, of which
   * nothing but the superblock matters, and without the window around the end of the XFS log, of
   * which most says nothing (XfsLogTest is about it).
   */
  private static List<ImageFile.Extent> relevant(List<ImageFile.Extent> reads) {
    List<ImageFile.Extent> extents = new ArrayList<>(reads.subList(2, reads.size()));
    extents.removeIf(extent -> extent.length() > (1 << 20));
    extents.add(new ImageFile.Extent(0, 4096));
    return extents;
  }

  /** With checksums any damage; without, the change of a single bit. */
  private static void damage(
      Mutant mutant, List<ImageFile.Extent> read, Random random, boolean checksums)
      throws IOException {
    if (checksums) {
      mutant.damage(read, random);
    } else {
      mutant.damageBit(read, random);
    }
  }

  /** One bit of the superblock changed and its checksum made right again. */
  private static Mutant forgedSuperblock(ImageFile file, boolean xfs, Random random)
      throws IOException {
    Mutant mutant = new Mutant(file);
    if (xfs) {
      mutant.flip(random.nextInt(280), 1 << random.nextInt(8));
      return makeChecksumRight(mutant, 0, mutant.peek(102, 2).getShort(), 224);
    }
    mutant.flip(1024 + random.nextInt(1020), 1 << random.nextInt(8));
    CRC32C crc = new CRC32C();
    crc.update(mutant.peek(1024, 1020));
    ByteBuffer sum = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
    return mutant.patch(2044, sum.putInt(0, Checksums.register(crc)));
  }

  /** The same for AGF, AGI or AGFL of an allocation group. */
  private static Mutant forgedGroupHeader(ImageFile file, Random random) throws IOException {
    Mutant mutant = new Mutant(file);
    ByteBuffer superblock = mutant.peek(0, 512);
    int sector = superblock.getShort(102);
    long group = random.nextInt(superblock.getInt(88));
    long start = group * superblock.getInt(84) * superblock.getInt(4);
    int which = 1 + random.nextInt(3);
    long at = start + (long) which * sector;
    mutant.flip(at + random.nextInt(sector), 1 << random.nextInt(8));
    return (superblock.getShort(100) & 0xf) == 5
        ? makeChecksumRight(mutant, at, sector, new int[] {216, 312, 32}[which - 1])
        : mutant;
  }

  private static Mutant makeChecksumRight(Mutant mutant, long at, int length, int field)
      throws IOException {
    if (length < 512) {
      return mutant;
    }
    int crc = Checksums.crc32cWithout(mutant.peek(at, length), field);
    ByteBuffer sum = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, crc);
    return mutant.patch(at + field, sum);
  }

  @ParameterizedTest
  @CsvSource({"mkfs.ext2, 40", "mkfs.ext4, 200", "mkfs.xfs, 320"})
  void refusesTruncatedImages(String mkfs, int megabytes) throws IOException {
    Random random = new Random(Campaign.SEED);
    Sample.of(mkfs, megabytes, Fill.EMPTY).make(image, mountPoint, random);
    try (ImageFile file = new ImageFile(image)) {
      long used = ((Inspection.Clean) FileSystems.inspect(file)).totalBytes();
      List<Long> sizes = new ArrayList<>(List.of(0L, 1L, 511L, 1024L, 1500L, 2048L, used - 1));
      random.longs(200, 0, used).forEach(sizes::add);
      Verdicts.assertRefusedWhenCut(file, sizes);
    }
  }
}
