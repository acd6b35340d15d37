package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.reclaim.fs.Sample.Fill;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** File systems that are mounted, crashed, or marked as damaged are refused. */
class FileSystemsUncleanIT extends ImageCase {
  @BeforeAll
  static void needsTools() {
    Shell.require(
        "mkfs.ext4", "debugfs", "mkfs.xfs", "xfs_db", "mount", "sgdisk", "parted", "cryptsetup");
  }

  private void make(String mkfs, int megabytes) {
    Random random = new Random(Campaign.SEED);
    Sample.of(mkfs, megabytes, Fill.EMPTY).make(image, mountPoint, random);
  }

  private static Inspection inspect(Path image) throws IOException {
    try (ImageFile file = new ImageFile(image)) {
      return FileSystems.inspect(file);
    }
  }

  private static void assertRefused(Path image, RefusalReason reason) throws IOException {
    Inspection inspection = inspect(image);
    assertThat(inspection).isInstanceOf(Inspection.Refused.class);
    assertThat(((Inspection.Refused) inspection).reason()).isEqualTo(reason);
  }

  @ParameterizedTest
  @CsvSource({
    "mkfs.ext2, NOT_CLEAN",
    "mkfs.ext3, JOURNAL_NOT_EMPTY",
    "mkfs.ext4, JOURNAL_NOT_EMPTY",
    "mkfs.ext4 -O ^has_journal, NOT_CLEAN",
    "mkfs.xfs, JOURNAL_NOT_EMPTY"
  })
  void refusesWhatIsMountedAndWrittenTo(String mkfs, RefusalReason reason) throws IOException {
    make(mkfs, 400);
    Path copy = directory.resolve("copy");
    Shell.script(
        String.format(
            "mount -o loop %1$s %2$s; echo 1 >%2$s/a; mkdir %2$s/b; sync -f %2$s/a;"
                + " cp --sparse=always %1$s %3$s; umount %2$s",
            image, mountPoint, copy));
    assertRefused(copy, reason);
    assertThat(inspect(image)).isInstanceOf(Inspection.Clean.class);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "set_super_value state 2; NOT_CLEAN",
        "set_super_value state 3; HAS_ERRORS",
        "set_super_value state 0; NOT_CLEAN",
        "set_super_value error_count 1; HAS_ERRORS",
        "set_super_value last_orphan 12; ORPHANS",
        "feature needs_recovery; JOURNAL_NOT_EMPTY",
        "feature FEATURE_I20; UNSUPPORTED_FEATURE",
        "feature FEATURE_R25; UNSUPPORTED_FEATURE",
        "feature FEATURE_C20; UNSUPPORTED_FEATURE",
        "feature shared_blocks; UNSUPPORTED_FEATURE",
        "feature journal_dev; UNSUPPORTED_FEATURE",
        "set_super_value journal_dev 0x801; EXTERNAL_JOURNAL",
        "set_super_value blocks_count 999999999; TRUNCATED",
        "set_super_value free_blocks_count 5; INCONSISTENT",
        "set_block_group 0 free_blocks_count 5; INCONSISTENT",
        "set_block_group 0 checksum 5; BAD_CHECKSUM",
        "set_bg 0 block_bitmap 300; BAD_CHECKSUM"
      })
  void refusesWhatExtSaysOfItself(String command, RefusalReason reason) throws IOException {
    make("mkfs.ext4 -O ^resize_inode", 100);
    Shell.script("debugfs -w -R '" + command + "' " + image);
    if (command.startsWith("set_b") && !command.contains("checksum")) {
      // The descriptor's checksum is made right again, so that the contradiction shows.
      Shell.script("debugfs -w -R 'set_bg 0 checksum calc' " + image);
    }
    assertRefused(image, reason);
  }

  /** Features that need a bit more than being known. */
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "mkfs.ext4 -O orphan_file; feature orphan_present; ORPHANS",
        "mkfs.ext4 -O orphan_file; quit; CLEAN",
        "mkfs.ext4 -O casefold; quit; CLEAN",
        "mkfs.ext4 -O encrypt; quit; CLEAN",
        "mkfs.ext4 -O stable_inodes; quit; CLEAN",
        "mkfs.ext4 -O verity; quit; CLEAN",
        "mkfs.ext4 -O fast_commit; quit; CLEAN",
        "mkfs.ext4 -O fast_commit; feature needs_recovery; JOURNAL_NOT_EMPTY",
        "mke2fs -O journal_dev; quit; UNSUPPORTED_FEATURE"
      })
  void knowsExtFeaturesByWhatTheyMeanForFreeSpace(String mkfs, String command, String answer)
      throws IOException {
    make(mkfs, 100);
    Shell.script("debugfs -w -R '" + command + "' " + image);
    if (answer.equals("CLEAN")) {
      Inspection inspection = inspect(image);
      assertThat(inspection).isInstanceOf(Inspection.Clean.class);
      assertThat(Ranges.of((Inspection.Clean) inspection))
          .isEqualTo(Ranges.ofDumpe2fs(image.toString()));
    } else {
      assertRefused(image, RefusalReason.valueOf(answer));
    }
  }

  /** Deleted and still open when it is copied: the orphan file holds it. */
  @Test
  void refusesAnOrphanFileThatIsInUse() throws IOException {
    make("mkfs.ext4 -O orphan_file", 100);
    Path copy = directory.resolve("copy");
    Shell.script(
        String.format(
            "mount -o loop %1$s %2$s; head -c 5000000 /dev/urandom >%2$s/f; exec 7<%2$s/f;"
                + " rm %2$s/f; sync -f %2$s; cp --sparse=always %1$s %3$s; exec 7<&-; umount %2$s",
            image, mountPoint, copy));
    assertThat(inspect(copy)).isInstanceOf(Inspection.Refused.class);
    assertThat(inspect(image)).isInstanceOf(Inspection.Clean.class);
  }

  @ParameterizedTest
  @CsvSource({
    "mkfs.xfs -l logdev=$OTHER, EXTERNAL_JOURNAL",
    "mkfs.xfs -r rtdev=$OTHER, UNSUPPORTED_FEATURE"
  })
  void refusesXfsThatHasASecondDevice(String mkfs, RefusalReason reason) throws IOException {
    Path other = directory.resolve("other");
    Shell.script(
        String.format(
            "truncate -s 400M %1$s %2$s; %3$s -q %1$s",
            image, other, mkfs.replace("$OTHER", other.toString())));
    assertRefused(image, reason);
  }

  @ParameterizedTest
  @ValueSource(ints = {1024, 2048, 4096})
  void readsXfsOfLargeSectors(int sector) throws IOException {
    make("mkfs.xfs -b size=4096 -s size=" + sector, 320);
    Inspection inspection = inspect(image);
    assertThat(inspection).isInstanceOf(Inspection.Clean.class);
    assertThat(Ranges.of((Inspection.Clean) inspection))
        .isEqualTo(Ranges.ofXfsDb(image.toString()));
  }

  @Test
  void refusesMultipleMountProtectionThatIsNotClean() throws IOException {
    make("mkfs.ext4 -O mmp,^metadata_csum", 100);
    assertThat(inspect(image)).isInstanceOf(Inspection.Clean.class);
    try (ImageFile file = new ImageFile(image)) {
      Mutant mutant = new Mutant(file);
      ByteBuffer block = mutant.peek(1024 + 0x168, 8).order(ByteOrder.LITTLE_ENDIAN);
      ByteBuffer sequence = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
      // 100 MiB get blocks of 1 KiB or 4 KiB by the defaults of the distribution.
      int blockSize = 1024 << mutant.peek(1024 + 0x18, 1).get(0);
      mutant.patch(block.getLong(0) * blockSize + 4, sequence.putInt(0, 0xE24D4D50));
      Inspection.Refused refused = (Inspection.Refused) FileSystems.inspect(mutant);
      assertThat(refused.reason()).isEqualTo(RefusalReason.IN_USE);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "write -d features_log_incompat 1; JOURNAL_NOT_EMPTY",
        "write -d features_incompat 0x1b; HAS_ERRORS",
        "write -d features_incompat 0x10b; UNSUPPORTED_FEATURE",
        "write -d features_ro_compat 0x8000000f; UNSUPPORTED_FEATURE",
        "write -d features_compat 4; UNSUPPORTED_FEATURE",
        "write -d inprogress 1; NOT_CLEAN",
        "write -d rblocks 100; UNSUPPORTED_FEATURE",
        "write -d logstart 0; EXTERNAL_JOURNAL",
        "write -d fdblocks 100; INCONSISTENT",
        "write -d dblocks 100000000; INCONSISTENT",
        "write -c lsn 0x500000000; INCONSISTENT",
        "write -c fname 1; CLEAN",
        "write -c features_incompat 0xcb; CLEAN"
      })
  void refusesWhatXfsSaysOfItself(String command, String answer) throws IOException {
    make("mkfs.xfs", 320);
    // xfs_db: -d makes the checksum right, -c keeps it wrong; both are given the right one here.
    String write = command.replace("-c ", "-d ");
    Shell.script("xfs_db -x -c 'sb 0' -c '" + write + "' " + image);
    if (answer.equals("CLEAN")) {
      assertThat(inspect(image)).isInstanceOf(Inspection.Clean.class);
    } else {
      assertRefused(image, RefusalReason.valueOf(answer));
    }
  }

  /** Every synced write moves the head of this small log by 32 KiB or more: it wraps often. */
  @ParameterizedTest
  @ValueSource(strings = {"size=16m,su=32k", "size=12m", "size=20m,su=256k"})
  void tellsCleanFromDirtyLogsWhereverTheyEnd(String log) throws IOException {
    make("mkfs.xfs --unsupported -l " + log, 400);
    Path copy = directory.resolve("copy");
    Random random = new Random(Campaign.SEED);
    for (int round = 0; round < (Campaign.full() ? 60 : 5); round++) {
      Shell.script(
          String.format(
              "mount -o loop %1$s %2$s; for i in $(seq %4$d); do echo $i >%2$s/f$i;"
                  + " sync %2$s/f$i; rm -f %2$s/f$((i-3)); done; cp --sparse=always %1$s %3$s;"
                  + " umount %2$s",
              image, mountPoint, copy, 1 + random.nextInt(250)));
      assertRefused(copy, RefusalReason.JOURNAL_NOT_EMPTY);
      Inspection inspection = inspect(image);
      assertThat(inspection)
          .as("seed %d, round %d", Campaign.SEED, round)
          .isInstanceOf(Inspection.Clean.class);
      assertThat(Ranges.of((Inspection.Clean) inspection))
          .isEqualTo(Ranges.ofXfsDb(image.toString()));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"mkfs.ext4", "mkfs.xfs"})
  void findsTheFileSystemInTheOnlyPartition(String mkfs) throws IOException {
    make(mkfs, 400);
    Path disk = directory.resolve("disk");
    Shell.script(
        String.format(
            "truncate -s 500M %2$s; sgdisk -n 1:2048:+400M %2$s;"
                + " dd if=%1$s of=%2$s bs=1M seek=1 conv=notrunc,sparse 2>&1",
            image, disk));
    Inspection.Clean inside = (Inspection.Clean) inspect(disk);
    assertThat(Ranges.of(inside))
        .isEqualTo(
            Ranges.of((Inspection.Clean) inspect(image)).stream()
                .map(range -> new FreeRange(range.offset() + (1 << 20), range.length()))
                .toList());
    Shell.script("sgdisk -n 2:0:0 " + disk);
    assertThat(Ranges.of((Inspection.Clean) inspect(disk))).isEqualTo(Ranges.of(inside));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "cryptsetup -q luksFormat --type luks1 --pbkdf-force-iterations 1000 $IMAGE - <<<key;"
            + " LUKS; ENCRYPTED",
        "cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $IMAGE -"
            + " <<<key; LUKS; ENCRYPTED",
        "mkswap $IMAGE; SWAP; ",
        "parted -s $IMAGE mklabel msdos mkpart primary 1MiB 10MiB; BLANK; NO_FILE_SYSTEM",
        "sgdisk -n 1:2048:+10M -n 2:0:+10M $IMAGE; BLANK; NO_FILE_SYSTEM",
        "sgdisk -o $IMAGE; GPT; UNSUPPORTED_PARTITIONS",
        "sgdisk -n 1:2048:+10M -h 1 $IMAGE; GPT; UNSUPPORTED_PARTITIONS",
        "true; BLANK; NO_FILE_SYSTEM",
        "dd if=/dev/urandom of=$IMAGE bs=1M count=1 conv=notrunc 2>&1; UNKNOWN; NO_FILE_SYSTEM",
        "mkfs.ext4 -q -F $IMAGE 2>&1; EXT4; ",
        "mkfs.ext4 -q -F $IMAGE 2>&1 && printf XFSB | dd of=$IMAGE conv=notrunc 2>&1; UNKNOWN;"
            + " AMBIGUOUS_CONTENT"
      })
  void namesWhatElseADeviceHolds(String command, FileSystemKind kind, RefusalReason reason)
      throws IOException {
    Shell.script("IMAGE=" + image + "\ntruncate -s 100M $IMAGE\n" + command);
    assertThat(Files.size(image)).isEqualTo(100 << 20);
    assertThat(inspect(image).kind()).isEqualTo(kind);
    if (reason != null) {
      assertRefused(image, reason);
    }
  }
}
