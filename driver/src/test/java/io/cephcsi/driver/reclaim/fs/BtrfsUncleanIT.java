package io.cephcsi.driver.reclaim.fs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.reclaim.fs.BtrfsSample.Step;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** States of btrfs that are not certain, and features that are not known, are refused. */
class BtrfsUncleanIT extends ImageCase {
  @BeforeAll
  static void needsTools() {
    Shell.require("mkfs.btrfs", "btrfs", "btrfstune", "mount", "sgdisk");
  }

  private void make(String mkfs, int megabytes, Step... steps) {
    BtrfsSample.of(mkfs, megabytes, steps).make(image, mountPoint, new Random(Campaign.SEED));
  }

  private void script(String text) {
    Shell.script("IMAGE=" + image + "\nMNT=" + mountPoint + "\nCOPY=$IMAGE.copy\n" + text);
  }

  private static Inspection inspect(Path path) throws IOException {
    try (ImageFile file = new ImageFile(path)) {
      return FileSystems.inspect(file);
    }
  }

  private static void assertRefused(Inspection inspection, RefusalReason reason) {
    assertThat(inspection).isInstanceOf(Inspection.Refused.class);
    Inspection.Refused refused = (Inspection.Refused) inspection;
    assertThat(refused.kind()).isEqualTo(FileSystemKind.BTRFS);
    assertThat(refused.reason()).as(refused.detail()).isEqualTo(reason);
  }

  @Test
  void refusesALogTree() throws IOException {
    make("", 300);
    script(
        "mount -o loop $IMAGE $MNT; sync -f $MNT; echo 1 >$MNT/a; sync $MNT/a;"
            + " cp --sparse=always $IMAGE $COPY; umount $MNT");
    assertRefused(inspect(directory.resolve("image.copy")), RefusalReason.JOURNAL_NOT_EMPTY);
    assertThat(inspect(image)).isInstanceOf(Inspection.Clean.class);
  }

  /** Mounted or crashed without a log: the state that was committed last is whole. */
  @Test
  void listsWhatTheLastCommitLeavesFree() throws IOException {
    make("", 300, Step.FILES);
    script(
        "mount -o loop $IMAGE $MNT; cp -r $MNT/d1 $MNT/d9; sync -f $MNT; rm -rf $MNT/d0;"
            + " cp --sparse=always $IMAGE $COPY; umount $MNT");
    Path copy = directory.resolve("image.copy");
    Inspection.Clean clean = (Inspection.Clean) inspect(copy);
    assertThat(Ranges.of(clean)).isEqualTo(BtrfsDump.free(copy));
  }

  @Test
  void refusesABalanceThatIsNotFinished() throws IOException {
    make("", 600, Step.FILES);
    script(
        """
        mount -o loop $IMAGE $MNT
        for i in 1 2 3 4 5; do
          head -c 60000000 /dev/zero >$MNT/f$i; sync -f $MNT
          btrfs -q balance start --full-balance --bg $MNT
          btrfs -q balance pause $MNT && break || true
        done
        btrfs balance status $MNT || true
        for i in {1..50}; do umount $MNT && break || sleep 0.2; done # the paused command ends a moment later
        ! mountpoint -q $MNT || exit 1
        btrfs inspect-internal dump-tree -t 1 $IMAGE | grep -q BALANCE""");
    assertRefused(inspect(image), RefusalReason.NOT_CLEAN);
  }

  /** The device's error counters are made a replace item: state is the last of the five. */
  @ParameterizedTest
  @CsvSource({
    "0, CLEAN",
    "1, NOT_CLEAN",
    "2, CLEAN",
    "3, CLEAN",
    "4, NOT_CLEAN",
    "5, INCONSISTENT"
  })
  void refusesADeviceReplaceThatIsNotFinished(int state, String answer) throws IOException {
    make("", 300, Step.FILES);
    try (ImageFile file = new ImageFile(image)) {
      Inspection inspection = FileSystems.inspect(forger(file).forgeReplace(state));
      if (answer.equals("CLEAN")) {
        assertThat(Ranges.of((Inspection.Clean) inspection)).isEqualTo(BtrfsDump.free(image));
      } else {
        assertRefused(inspection, RefusalReason.valueOf(answer));
      }
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "-M; UNSUPPORTED_FEATURE",
        "--csum xxhash; UNSUPPORTED_FEATURE",
        "--csum blake2; UNSUPPORTED_FEATURE",
        "-d single -m single -O raid1c34; UNSUPPORTED_FEATURE",
        "-O raid56; UNSUPPORTED_FEATURE",
        "-m raid0 -d raid0; UNSUPPORTED_FEATURE"
      })
  void refusesFormatsThatItDoesNotRead(String mkfs, RefusalReason reason) throws IOException {
    make(mkfs, 300);
    assertRefused(inspect(image), reason);
  }

  @Test
  void refusesMoreThanOneDevice() throws IOException {
    script(
        "truncate -s 300M $IMAGE $COPY; A=$(losetup -f --show $IMAGE); B=$(losetup -f --show $COPY)\n"
            + "mkfs.btrfs -q $A $B || FAILED=1; losetup -d $A $B; test -z \"${FAILED:-}\"");
    assertRefused(inspect(image), RefusalReason.UNSUPPORTED_FEATURE);
    assertRefused(inspect(directory.resolve("image.copy")), RefusalReason.UNSUPPORTED_FEATURE);
  }

  @Test
  void refusesASeedDevice() throws IOException {
    make("", 300, Step.FILES);
    script("btrfstune -f -S 1 $IMAGE");
    assertRefused(inspect(image), RefusalReason.UNSUPPORTED_FEATURE);
  }

  /** Offset in the superblock, bytes, what is put there. */
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "56; 8; 5; HAS_ERRORS",
        "56; 8; 0x100000001; UNSUPPORTED_FEATURE",
        "56; 8; 0x400000001; UNSUPPORTED_FEATURE",
        "96; 8; 0x1d00000; JOURNAL_NOT_EMPTY",
        "112; 8; 0x40000000; TRUNCATED",
        "120; 8; 4096; INCONSISTENT",
        "136; 8; 2; UNSUPPORTED_FEATURE",
        "144; 4; 512; INCONSISTENT",
        "148; 4; 131072; INCONSISTENT",
        "172; 8; 1; UNSUPPORTED_FEATURE",
        "180; 8; 1; NOT_CLEAN",
        "180; 8; 2; NOT_CLEAN",
        "180; 8; 0; INCONSISTENT",
        "180; 8; 11; UNSUPPORTED_FEATURE",
        "180; 8; 16; UNSUPPORTED_FEATURE",
        "188; 8; 0x345; UNSUPPORTED_FEATURE",
        "188; 8; 0x1341; UNSUPPORTED_FEATURE",
        "188; 8; 0x2341; UNSUPPORTED_FEATURE",
        "188; 8; 0x4341; UNSUPPORTED_FEATURE",
        "188; 8; 0x10341; UNSUPPORTED_FEATURE",
        "188; 8; 0x20341; UNSUPPORTED_FEATURE",
        "188; 8; 0x340; UNSUPPORTED_FEATURE",
        "196; 2; 7; UNSUPPORTED_FEATURE",
        "209; 8; 0x8000000; INCONSISTENT",
        "217; 8; 4096; INCONSISTENT"
      })
  void refusesWhatTheSuperblockSaysOfItself(
      int offset, int length, String value, RefusalReason reason) throws IOException {
    make("", 300);
    try (ImageFile file = new ImageFile(image)) {
      BtrfsForger forger = forger(file);
      Mutant mutant = forger.patchSuperblocks(offset, length, Long.decode(value));
      assertRefused(FileSystems.inspect(mutant), reason);
    }
  }

  private static BtrfsForger forger(ImageFile file) throws IOException {
    assertThat(FileSystems.inspect(file)).isInstanceOf(Inspection.Clean.class);
    List<ImageFile.Extent> reads = file.reads().subList(2, file.reads().size());
    return new BtrfsForger(file, List.copyOf(reads), new Random(Campaign.SEED));
  }

  @Test
  void refusesSuperblocksThatDiffer() throws IOException {
    make("", 300);
    long second = BtrfsSuperblock.COPIES[1];
    try (ImageFile file = new ImageFile(image)) {
      BtrfsForger forger = forger(file);
      Mutant other = forger.patchSuperblock(new Mutant(file), second, 72, 8, 3);
      assertRefused(FileSystems.inspect(other), RefusalReason.NOT_CLEAN);
      Mutant label = forger.patchSuperblock(new Mutant(file), second, 299, 1, 'x');
      assertRefused(FileSystems.inspect(label), RefusalReason.INCONSISTENT);
      Mutant moved = forger.patchSuperblock(new Mutant(file), second, 48, 8, 65536);
      assertRefused(FileSystems.inspect(moved), RefusalReason.INCONSISTENT);
      Mutant damaged = new Mutant(file).flip(second + 300, 1);
      assertRefused(FileSystems.inspect(damaged), RefusalReason.BAD_CHECKSUM);
    }
  }

  @Test
  void findsTheFileSystemInTheOnlyPartition() throws IOException {
    make("", 300, Step.FILES);
    script(
        "truncate -s 400M $COPY; sgdisk -n 1:2048:+300M $COPY;"
            + " dd if=$IMAGE of=$COPY bs=1M seek=1 conv=notrunc,sparse 2>&1");
    Inspection.Clean inside = (Inspection.Clean) inspect(directory.resolve("image.copy"));
    assertThat(inside.kind()).isEqualTo(FileSystemKind.BTRFS);
    assertThat(Ranges.of(inside))
        .isEqualTo(
            BtrfsDump.free(image).stream()
                .map(range -> new FreeRange(range.offset() + (1 << 20), range.length()))
                .toList());
  }
}
