package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** FAT, exFAT and swap areas that are in use, damaged, or not known in all parts are refused. */
class DosRefusalIT extends ImageCase {
  @BeforeAll
  static void needsTools() {
    Shell.require("mkfs.fat", "mcopy", "mkfs.exfat", "mount.exfat-fuse", "mkswap", "sgdisk");
  }

  private void make(String mkfs, int kibibytes) {
    DosSample.of(mkfs, kibibytes).make(image, directory, new Random(Campaign.SEED));
  }

  private static void assertRefused(BlockReader reader, RefusalReason reason) throws IOException {
    Inspection inspection = FileSystems.inspect(reader);
    assertThat(inspection).isInstanceOf(Inspection.Refused.class);
    assertThat(((Inspection.Refused) inspection).reason()).isEqualTo(reason);
  }

  /** A change of an image. */
  private interface Change {
    void make(Mutant mutant, DosBytes bytes) throws IOException;
  }

  private void assertRefused(RefusalReason reason, Change change) throws IOException {
    try (ImageFile file = new ImageFile(image)) {
      Mutant mutant = new Mutant(file);
      change.make(mutant, new DosBytes(mutant));
      assertRefused(mutant, reason);
    }
  }

  private void assertClean(Change change) throws IOException {
    try (ImageFile file = new ImageFile(image)) {
      Mutant mutant = new Mutant(file);
      change.make(mutant, new DosBytes(mutant));
      assertThat(FileSystems.inspect(mutant)).isInstanceOf(Inspection.Clean.class);
    }
  }

  private static ByteBuffer text(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  @ParameterizedTest
  @CsvSource({"mkfs.fat -F 16, 40960, 37", "mkfs.fat -F 32 -s 1, 60000, 65"})
  void refusesFatThatWasNotUnmounted(String mkfs, int size, int state) throws IOException {
    make(mkfs, size);
    assertRefused(RefusalReason.NOT_CLEAN, (mutant, bytes) -> mutant.flip(state, 1));
    assertRefused(RefusalReason.HAS_ERRORS, (mutant, bytes) -> mutant.flip(state, 2));
    int clean = mkfs.contains("32") ? 1 << 27 : 1 << 15;
    assertRefused(
        RefusalReason.NOT_CLEAN, (mutant, bytes) -> bytes.setEntry(1, bytes.entry(1) & ~clean));
    assertRefused(
        RefusalReason.HAS_ERRORS,
        (mutant, bytes) -> bytes.setEntry(1, bytes.entry(1) & ~(clean / 2)));
  }

  @ParameterizedTest
  @CsvSource({"mkfs.fat -F 12 -s 4, 4096", "mkfs.fat -F 16, 40960", "mkfs.fat -F 32 -s 1, 60000"})
  void refusesFatWhoseTableAndFilesDisagree(String mkfs, int size) throws IOException {
    make(mkfs, size);
    String name = "HOLE    TXT";
    Shell.script(
        "head -c 9000 /dev/zero >"
            + directory
            + "/hole.txt; export MTOOLS_SKIP_CHECK=1; mcopy -i "
            + image
            + " "
            + directory
            + "/hole.txt ::");
    assertClean((mutant, bytes) -> {});
    RefusalReason wrong = RefusalReason.INCONSISTENT;
    // A chain that ends early, goes to a free cluster, runs in a circle, or meets another.
    assertRefused(wrong, (m, bytes) -> bytes.setEntry(first(m, bytes, name), 0));
    assertRefused(
        wrong,
        (m, bytes) -> {
          int head = first(m, bytes, name);
          bytes.setEntry(head, bytes.bits() == 32 ? 0x0fffffff : (1 << bytes.bits()) - 1);
        });
    assertRefused(
        wrong, (m, bytes) -> bytes.setEntry(first(m, bytes, name), first(m, bytes, name)));
    assertRefused(wrong, (m, bytes) -> bytes.setEntry(first(m, bytes, name), bytes.clusters() + 1));
    assertRefused(wrong, (m, bytes) -> bytes.setEntry(first(m, bytes, name), 1));
    assertRefused(wrong, (m, bytes) -> bytes.setEntry(0, bytes.entry(0) ^ 1));
    assertRefused(
        wrong,
        (m, bytes) -> {
          int bad = bytes.bits() == 32 ? 0x0ffffff7 : (1 << bytes.bits()) - 9;
          bytes.setEntry(first(m, bytes, name), bad);
        });
    // The size, the first cluster and the attributes in the directory.
    assertRefused(wrong, (m, bytes) -> m.flip(entry(m, bytes, name) + 31, 0x10));
    assertRefused(wrong, (m, bytes) -> m.flip(entry(m, bytes, name) + 29, 0x20));
    assertRefused(wrong, (m, bytes) -> m.flip(entry(m, bytes, name) + 26, 1));
    assertRefused(wrong, (m, bytes) -> m.flip(entry(m, bytes, name) + 11, 0x10));
    assertRefused(wrong, (m, bytes) -> m.flip(entry(m, bytes, name) + 11, 0x08));
    assertRefused(
        RefusalReason.UNSUPPORTED_FEATURE, (m, bytes) -> m.flip(entry(m, bytes, name) + 11, 0x80));
    // An end of the directory before its last entry, and one copy of the table alone.
    assertRefused(wrong, (m, bytes) -> m.patch(bytes.root(), ByteBuffer.allocate(1)));
    assertRefused(wrong, (m, bytes) -> m.flip(bytes.tableOffset(0) + 9, 1));
    assertRefused(wrong, (m, bytes) -> m.flip(bytes.tableOffset(1) + 9, 1));
  }

  /** Byte offset of an entry of the root directory. */
  private static long entry(Mutant mutant, DosBytes bytes, String name) throws IOException {
    for (long at = bytes.root(); at < bytes.root() + (64 << 10); at += 32) {
      if (mutant.peek(at, 11).equals(text(name))) {
        return at;
      }
    }
    throw new AssertionError(name + " is missing");
  }

  private static int first(Mutant mutant, DosBytes bytes, String name) throws IOException {
    long at = entry(mutant, bytes, name);
    int low = mutant.peek(at + 26, 2).order(java.nio.ByteOrder.LITTLE_ENDIAN).getShort() & 0xffff;
    int high = mutant.peek(at + 20, 2).order(java.nio.ByteOrder.LITTLE_ENDIAN).getShort();
    return bytes.bits() == 32 ? high << 16 | low : low;
  }

  @Test
  void refusesFat32WithOddCopiesAndCounters() throws IOException {
    make("mkfs.fat -F 32 -s 1", 60000);
    RefusalReason wrong = RefusalReason.INCONSISTENT;
    assertRefused(wrong, (mutant, bytes) -> mutant.flip(6 * 512 + 3, 1));
    assertRefused(wrong, (mutant, bytes) -> mutant.flip(512, 1));
    assertRefused(wrong, (mutant, bytes) -> mutant.flip(512 + 484, 1));
    assertRefused(wrong, (mutant, bytes) -> mutant.flip(512 + 508 + 2, 1));
    assertRefused(wrong, (mutant, bytes) -> mutant.flip(512 + 488, 1));
    assertClean((mutant, bytes) -> mutant.patch(512 + 488, DosBytes.little(-1)));
    RefusalReason unknown = RefusalReason.UNSUPPORTED_FEATURE;
    assertRefused(unknown, (mutant, bytes) -> bytes.forgeBoot(40, 0x80));
    assertRefused(unknown, (mutant, bytes) -> bytes.forgeBoot(42, 1));
    assertRefused(unknown, (mutant, bytes) -> bytes.setEntry(5000, 0x10000000));
    assertRefused(unknown, (mutant, bytes) -> bytes.forgeBoot(66, 1));
  }

  @Test
  void refusesFatOfTheWrongNumberOfClusters() throws IOException {
    DosSample.empty("mkfs.fat -F 32 -s 8", 40000).make(image, directory, new Random(1));
    assertRefused(RefusalReason.INCONSISTENT, (mutant, bytes) -> {});
    make("mkfs.fat -F 16", 40960);
    assertRefused(RefusalReason.INCONSISTENT, (m, bytes) -> m.patch(54, text("FAT12   ")));
    make("mkfs.fat -F 12", 4096);
    assertRefused(RefusalReason.INCONSISTENT, (m, bytes) -> m.patch(54, text("FAT16   ")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"mkfs.fat -F 12", "mkfs.fat -F 16 -s 1"})
  void refusesFatWithoutWitnessesOfItsGeometry(String mkfs) throws IOException {
    DosSample.empty(mkfs, 4096).make(image, directory, new Random(1));
    assertRefused(RefusalReason.UNSUPPORTED_FEATURE, (mutant, bytes) -> {});
    Shell.script("mmd -i " + image + " ::a");
    assertRefused(RefusalReason.UNSUPPORTED_FEATURE, (mutant, bytes) -> {});
    Shell.script("mmd -i " + image + " ::a/b");
    assertClean((mutant, bytes) -> {});
  }

  @Test
  void refusesExfatThatIsMountedOrFailed() throws IOException {
    make("mkfs.exfat", 65536);
    assertClean((mutant, bytes) -> mutant.patch(112, ByteBuffer.wrap(new byte[] {55})));
    assertRefused(RefusalReason.NOT_CLEAN, (mutant, bytes) -> mutant.flip(106, 2));
    assertRefused(RefusalReason.HAS_ERRORS, (mutant, bytes) -> mutant.flip(106, 4));
    assertRefused(RefusalReason.UNSUPPORTED_FEATURE, (mutant, bytes) -> mutant.flip(106, 1));
    assertRefused(RefusalReason.UNSUPPORTED_FEATURE, (mutant, bytes) -> mutant.flip(106, 8));
    Path copy = directory.resolve("copy");
    DosSample.mounted(
        image, directory, "rw", "echo x >$MNT/x; sync; cp --sparse=always " + image + " " + copy);
    try (ImageFile file = new ImageFile(copy)) {
      assertRefused(file, RefusalReason.NOT_CLEAN);
    }
    assertClean((mutant, bytes) -> {});
  }

  @Test
  void refusesDamagedExfat() throws IOException {
    make("mkfs.exfat", 65536);
    RefusalReason checksum = RefusalReason.BAD_CHECKSUM;
    RefusalReason wrong = RefusalReason.INCONSISTENT;
    RefusalReason unknown = RefusalReason.UNSUPPORTED_FEATURE;
    assertRefused(checksum, (mutant, bytes) -> mutant.flip(100, 1));
    assertRefused(checksum, (mutant, bytes) -> mutant.flip(5 * 512, 1));
    assertRefused(checksum, (mutant, bytes) -> mutant.flip(11 * 512 + 100, 1));
    assertRefused(wrong, (mutant, bytes) -> mutant.flip(12 * 512 + 100, 1));
    assertRefused(wrong, (mutant, bytes) -> mutant.flip(23 * 512 + 100, 1));
    assertRefused(unknown, (mutant, bytes) -> bytes.forgeBoot(110, 3));
    assertRefused(unknown, (mutant, bytes) -> bytes.forgeBoot(105, 2));
    assertRefused(wrong, (mutant, bytes) -> bytes.setEntry(0, 0));
    // The root directory: label, bitmap, up-case table, then sets of files.
    assertRefused(wrong, (mutant, bytes) -> mutant.flip(bytes.root() + 32, 0x80));
    assertRefused(wrong, (mutant, bytes) -> mutant.flip(bytes.root() + 33, 1));
    assertRefused(wrong, (mutant, bytes) -> mutant.flip(bytes.root() + 32 + 24, 1));
    assertRefused(checksum, (mutant, bytes) -> mutant.flip(bytes.root() + 64 + 4, 1));
    assertRefused(checksum, (mutant, bytes) -> mutant.flip(bytes.offsetOf(3), 1));
    assertRefused(wrong, (mutant, bytes) -> mutant.flip(bytes.offsetOf(2), 1));
    assertRefused(checksum, (mutant, bytes) -> mutant.flip(bytes.root() + 96 + 8, 1));
    assertRefused(unknown, (mutant, bytes) -> mutant.flip(bytes.root() + 96, 0x80));
    assertRefused(wrong, (mutant, bytes) -> mutant.flip(bytes.root() + 96 + 32, 0x80));
    assertRefused(unknown, (mutant, bytes) -> mutant.flip(bytes.root() + 96 + 32, 0x20));
    assertRefused(unknown, (mutant, bytes) -> mutant.flip(bytes.root() + 96, 0x08));
    assertRefused(
        wrong, (mutant, bytes) -> mutant.patch(bytes.root() + 96, ByteBuffer.allocate(1)));
    // A directory at the clusters of another file, with a checksum that is right.
    assertRefused(
        wrong,
        (mutant, bytes) -> {
          mutant.patch(bytes.root() + 96 + 32 + 20, DosBytes.little(4));
          bytes.sumSet(bytes.root() + 96);
        });
    assertRefused(
        wrong,
        (mutant, bytes) -> {
          mutant.patch(bytes.root() + 96 + 32 + 20, DosBytes.little(bytes.clusters()));
          bytes.sumSet(bytes.root() + 96);
        });
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "S1SUSPEND",
        "S2SUSPEND",
        "ULSUSPEND",
        "LINHIB0001",
        "\u00ed\u00c3\u0002\u00e9\u0098V\u00e5\u000c"
      })
  void refusesHibernatedSystems(String signature) throws IOException {
    make("mkswap", 65536);
    assertRefused(RefusalReason.IN_USE, (m, bytes) -> m.patch(4086, text(signature)));
  }

  @Test
  void refusesSwapAreasThatAreNotPlain() throws IOException {
    make("mkswap", 65536);
    assertClean((mutant, bytes) -> {});
    RefusalReason unknown = RefusalReason.UNSUPPORTED_FEATURE;
    RefusalReason wrong = RefusalReason.INCONSISTENT;
    RefusalReason several = RefusalReason.AMBIGUOUS_CONTENT;
    assertRefused(unknown, (m, bytes) -> m.patch(4086, text("SWAP-SPACE")));
    assertRefused(unknown, (m, bytes) -> m.patch(1024, text("\0\0\0\1")));
    assertRefused(unknown, (m, bytes) -> m.flip(1024, 3));
    assertRefused(unknown, (m, bytes) -> m.flip(1032, 1));
    assertRefused(wrong, (m, bytes) -> m.patch(1028, DosBytes.little(0)));
    assertRefused(RefusalReason.TRUNCATED, (m, bytes) -> m.patch(1028, DosBytes.little(65536 / 4)));
    assertRefused(RefusalReason.TRUNCATED, (m, bytes) -> m.patch(1028, DosBytes.little(-1)));
    assertRefused(wrong, (m, bytes) -> m.patch(65526, text("SWAPSPACE2")));
    assertRefused(wrong, (m, bytes) -> m.flip(100, 1));
    assertRefused(wrong, (m, bytes) -> m.flip(1600, 1));
    assertRefused(several, (m, bytes) -> m.patch(0x8000, text("JFS1")));
    assertRefused(several, (m, bytes) -> m.patch(0x4000 + 20, text("name..version")));
    assertRefused(several, (m, bytes) -> m.patch((65536L << 10) - 512, text("EFI PART")));
    assertRefused(several, (m, bytes) -> m.patch(0x10040, text("_BHRfS_M")));
    assertRefused(several, (m, bytes) -> m.patch(0, text("XFSB")));
    assertRefused(
        several,
        (m, bytes) ->
            m.patch(446, text("\0\1\1\1\u0083\1\1\1\1\0\0\0\1\0\0\0")).patch(510, text("U\u00aa")));
  }

  @ParameterizedTest
  @CsvSource({"mkfs.fat -F 32 -s 1, 60000", "mkfs.exfat, 65536", "mkswap, 65536"})
  void findsThemInTheOnlyPartition(String mkfs, int kibibytes) throws IOException {
    make(mkfs, kibibytes);
    Path disk = directory.resolve("disk");
    Shell.script(
        String.format(
            "truncate -s 100M %2$s; sgdisk -n 1:2048:+80M %2$s;"
                + " dd if=%1$s of=%2$s bs=1M seek=1 conv=notrunc,sparse 2>&1",
            image, disk));
    try (ImageFile whole = new ImageFile(disk);
        ImageFile alone = new ImageFile(image)) {
      assertThat(Ranges.of((Inspection.Clean) FileSystems.inspect(whole)))
          .isEqualTo(
              Ranges.of((Inspection.Clean) FileSystems.inspect(alone)).stream()
                  .map(range -> new FreeRange(range.offset() + (1 << 20), range.length()))
                  .toList());
    }
  }
}
