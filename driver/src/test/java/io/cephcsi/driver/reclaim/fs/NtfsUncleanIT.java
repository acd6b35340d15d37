package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** NTFS that was not unmounted, that Windows still needs, or that contradicts itself. */
class NtfsUncleanIT {
  private static final Random RANDOM = new Random(Campaign.SEED);
  private static Path directory;
  private static Path image;

  @BeforeAll
  static void makeImage() throws IOException {
    NtfsSample.needsTools();
    directory = Campaign.makeDirectory();
    image = directory.resolve("image");
    NtfsSample.of("-c 4096", 40 << 10, 40).make(image, directory.resolve("mnt"), RANDOM);
  }

  @AfterAll
  static void removeDirectory() {
    Campaign.remove(directory);
  }

  /** A change to the image. */
  @FunctionalInterface
  private interface Change {
    void make(Mutant mutant, NtfsLayout layout) throws IOException;
  }

  private static Inspection inspect(Change change) throws IOException {
    try (ImageFile file = new ImageFile(image)) {
      Mutant mutant = new Mutant(file);
      change.make(mutant, new NtfsLayout(file));
      return FileSystems.inspect(mutant);
    }
  }

  private static void assertRefused(RefusalReason reason, Change change) throws IOException {
    assertRefused(reason, inspect(change));
  }

  private static void assertRefused(RefusalReason reason, Inspection inspection) {
    assertThat(inspection).isInstanceOf(Inspection.Refused.class);
    assertThat(((Inspection.Refused) inspection).reason()).as("%s", inspection).isEqualTo(reason);
  }

  private static ByteBuffer number(int value, int bytes) {
    ByteBuffer buffer = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, value);
    return buffer.limit(bytes);
  }

  @Test
  void acceptsTheImageUnchanged() throws IOException {
    assertThat(inspect((mutant, layout) -> {})).isInstanceOf(Inspection.Clean.class);
  }

  @ParameterizedTest
  @ValueSource(ints = {0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x40, 0x4000, 0x8000})
  void refusesEachFlagOfTheVolume(int flag) throws IOException {
    assertRefused(
        RefusalReason.NOT_CLEAN,
        (mutant, layout) -> mutant.patch(layout.volumeFlags(), number(flag, 2)));
  }

  @ParameterizedTest
  @CsvSource({"1, 2", "3, 0", "3, 2"})
  void refusesOtherVersions(int major, int minor) throws IOException {
    assertRefused(
        RefusalReason.UNSUPPORTED_FEATURE,
        (mutant, layout) -> mutant.patch(layout.volumeFlags() - 2, number(minor << 8 | major, 2)));
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1, 65535, 2, CLEAN",
    "1, 1, 65535, 0, CLEAN",
    "1, 1, 0, 2, CLEAN",
    "1, 1, 0, 0, JOURNAL_NOT_EMPTY",
    "1, 1, 0, 1, JOURNAL_NOT_EMPTY",
    "1, 1, 65535, 4, UNSUPPORTED_FEATURE",
    "2, 0, 65535, 2, NOT_CLEAN",
    "1, 0, 65535, 2, UNSUPPORTED_FEATURE",
    "-1, -1, 65535, 2, UNSUPPORTED_FEATURE"
  })
  void readsTheLogOfWindows(int major, int minor, int clients, int flags, String verdict)
      throws IOException {
    Change change =
        (mutant, layout) ->
            mutant.patch(
                layout.data(NtfsLayout.LOG), NtfsLayout.restartPages(major, minor, clients, flags));
    if (verdict.equals("CLEAN")) {
      assertThat(inspect(change)).isInstanceOf(Inspection.Clean.class);
    } else {
      assertRefused(RefusalReason.valueOf(verdict), change);
    }
  }

  @Test
  void refusesALogOfWhichOnePageIsNotClosed() throws IOException {
    for (int page = 0; page < 2; page++) {
      int at = page * 4096 + 0x30 + 12;
      assertRefused(
          RefusalReason.JOURNAL_NOT_EMPTY,
          (mutant, layout) ->
              mutant.patch(
                  layout.data(NtfsLayout.LOG),
                  NtfsLayout.restartPages(1, 1, 0xffff, 0).putShort(at, (short) 0)));
    }
  }

  @Test
  void refusesALogOfWhichOnePageIsNotThereOrTorn() throws IOException {
    for (int page = 0; page < 2; page++) {
      int at = page * 4096;
      assertRefused(
          RefusalReason.JOURNAL_NOT_EMPTY,
          (mutant, layout) ->
              mutant.patch(
                  layout.data(NtfsLayout.LOG),
                  NtfsLayout.restartPages(1, 1, 0xffff, 2).putInt(at, 0)));
      assertRefused(
          RefusalReason.INCONSISTENT,
          (mutant, layout) ->
              mutant.patch(
                  layout.data(NtfsLayout.LOG),
                  NtfsLayout.restartPages(1, 1, 0xffff, 2).putShort(at + 1022, (short) 8)));
    }
  }

  @Test
  void refusesALogThatIsEmptyInPart() throws IOException {
    assertRefused(
        RefusalReason.JOURNAL_NOT_EMPTY,
        (mutant, layout) -> mutant.flip(layout.data(NtfsLayout.LOG) + 60_000, 1));
  }

  @Test
  void refusesWhatNtfsresizeLeftToBeChecked() throws IOException {
    Path copy = directory.resolve("resized");
    NtfsSample.of("-c 4096", 20 << 10, 0)
        .then("truncate -s 40M $IMAGE; ntfsresize -f -f $IMAGE")
        .make(copy, directory.resolve("mnt"), RANDOM);
    try (ImageFile file = new ImageFile(copy)) {
      assertRefused(RefusalReason.NOT_CLEAN, FileSystems.inspect(file));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "(echo hibr; head -c 9000 /dev/zero) >hiberfil.sys | NOT_CLEAN",
        "(echo HIBR; head -c 9000 /dev/zero) >HiberFil.sys | NOT_CLEAN",
        "(head -c 4095 /dev/zero; echo wake) >hiberfil.sys | NOT_CLEAN",
        "truncate -s 10M hiberfil.sys | NOT_CLEAN",
        "echo hibr >hiberfil.sys | NOT_CLEAN",
        "head -c 9000 /dev/zero >hiberfil.sys | CLEAN",
        "mkdir d && echo hibr >d/hiberfil.sys | CLEAN",
        "echo >'{00000000}{3808876B-c176-4e48-b7ae-04046e6cc752}' | UNSUPPORTED_FEATURE"
      })
  void refusesWhatWindowsStillNeeds(String script, String verdict) throws IOException {
    Path volume = directory.resolve("windows");
    Path mountPoint = directory.resolve("mnt");
    NtfsSample.of("-c 4096", 10 << 10, 0).make(volume, mountPoint, RANDOM);
    NtfsSample.mounted(volume, mountPoint, "cd " + mountPoint + "\n" + script + "\ncd /");
    try (ImageFile file = new ImageFile(volume)) {
      Inspection inspection = FileSystems.inspect(file);
      if (verdict.equals("CLEAN")) {
        assertThat(inspection).isInstanceOf(Inspection.Clean.class);
      } else {
        assertRefused(RefusalReason.valueOf(verdict), inspection);
      }
    }
  }

  @Test
  void refusesAListOfShadowCopies() throws IOException {
    ByteBuffer id = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
    id.putLong(0, 0x4E48C1763808876BL);
    assertRefused(RefusalReason.UNSUPPORTED_FEATURE, (mutant, layout) -> mutant.patch(0x1E00, id));
  }

  @Test
  void refusesWhenAnyUsedClusterIsFreeInTheBitmap() throws IOException {
    try (ImageFile file = new ImageFile(image)) {
      NtfsLayout layout = new NtfsLayout(file);
      long bitmap = layout.data(NtfsLayout.BITMAP);
      List<FreeRange> free = Ranges.of((Inspection.Clean) FileSystems.inspect(file));
      int tried = 0;
      while (tried < (Campaign.full() ? 3000 : 150)) {
        int cluster = RANDOM.nextInt((int) layout.boot.clusters);
        Mutant mutant = new Mutant(file).flip(bitmap + cluster / 8, 1 << (cluster % 8));
        FreeRange changed = new FreeRange((long) cluster * 4096, 4096);
        if (Ranges.outsideOf(free, List.of(changed)).isEmpty()) {
          Inspection.Clean clean = (Inspection.Clean) FileSystems.inspect(mutant);
          assertThat(clean.freeBytes())
              .isEqualTo(free.stream().mapToLong(FreeRange::length).sum() - 4096);
        } else {
          assertRefused(RefusalReason.INCONSISTENT, FileSystems.inspect(mutant));
          tried++;
        }
      }
    }
  }

  @Test
  void refusesMirrorsThatDiffer() throws IOException {
    for (int record = 0; record < 4; record++) {
      long at = record * 1024L + 0x10L;
      assertRefused(
          RefusalReason.INCONSISTENT, (mutant, layout) -> mutant.flip(layout.data(1) + at, 1));
    }
  }

  @Test
  void refusesACopyOfTheBootSectorThatDiffersOrIsMissing() throws IOException {
    long last = (40L << 20) - 512;
    assertRefused(RefusalReason.INCONSISTENT, (mutant, layout) -> mutant.flip(last + 0x28, 8));
    assertRefused(
        RefusalReason.INCONSISTENT,
        (mutant, layout) -> mutant.patch(last, ByteBuffer.allocate(512)));
  }

  @Test
  void refusesRecordsThatAreTornOrBadOrInUseByHalf() throws IOException {
    try (ImageFile file = new ImageFile(image)) {
      for (long at : new NtfsLayout(file).recordsInUse()) {
        assertRefused(
            RefusalReason.INCONSISTENT, FileSystems.inspect(new Mutant(file).flip(at + 1022, 1)));
        ByteBuffer bad = ByteBuffer.wrap("BAAD".getBytes(StandardCharsets.US_ASCII));
        assertThat(FileSystems.inspect(new Mutant(file).patch(at, bad)))
            .isInstanceOf(Inspection.Refused.class);
        if (at >= new NtfsLayout(file).record(24)) {
          assertRefused(
              RefusalReason.INCONSISTENT, FileSystems.inspect(new Mutant(file).flip(at + 22, 1)));
        }
      }
    }
  }

  @Test
  void takesMessagesOfABootSectorForNoPartitions() throws IOException {
    long last = (40L << 20) - 512;
    byte[] text = "\0\r\nNo system here. Press any key\r\n".getBytes(StandardCharsets.US_ASCII);
    Change messages =
        (mutant, layout) ->
            mutant.patch(446, ByteBuffer.wrap(text)).patch(last + 446, ByteBuffer.wrap(text));
    assertThat(inspect(messages)).isInstanceOf(Inspection.Clean.class);
    ByteBuffer partition = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
    partition.put(4, (byte) 7).putInt(8, 2048).putInt(12, 4096);
    assertRefused(
        RefusalReason.AMBIGUOUS_CONTENT, (mutant, layout) -> mutant.patch(446, partition));
  }

  @Test
  void readsTheOnePartitionOfAGuidPartitionTable() throws IOException {
    Path disk = directory.resolve("disk");
    Shell.script(
        String.format(
            "truncate -s 60M %1$s; sgdisk -n 1:2048:83967 %1$s >/dev/null;"
                + " dd if=%2$s of=%1$s bs=1M seek=1 conv=notrunc,sparse status=none",
            disk, image));
    try (ImageFile part = new ImageFile(disk);
        ImageFile whole = new ImageFile(image)) {
      List<FreeRange> shifted =
          Ranges.of((Inspection.Clean) FileSystems.inspect(whole)).stream()
              .map(range -> new FreeRange(range.offset() + (1 << 20), range.length()))
              .toList();
      assertThat(Ranges.of((Inspection.Clean) FileSystems.inspect(part))).isEqualTo(shifted);
    }
  }
}
