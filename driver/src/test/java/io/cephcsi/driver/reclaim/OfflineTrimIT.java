package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.cls.UsageQuery;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.reclaim.ReclaimResult.Outcome;
import io.cephcsi.driver.reclaim.fs.ContentNode;
import io.cephcsi.driver.testing.DiskImage;
import io.cephcsi.driver.testing.DosImage;
import io.cephcsi.driver.testing.FileCopy;
import io.cephcsi.driver.testing.FileSystemImage;
import io.cephcsi.testing.Commands;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.data.Offset;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OfflineTrimIT extends ReclaimCase {
  private static final Map<String, String> TRIM = Map.of("reclaim.method", "trim");
  private static final long SIZE = 384L * MIB;

  /** How many times the disks of machines are larger: 17 makes one of 20 GiB. */
  private static final long SCALE =
      Long.parseLong(System.getenv().getOrDefault("CEPH_CSI_TEST_DISK_SCALE", "1"));

  @TempDir Path folder;

  private FileSystemImage used(String type) {
    FileSystemImage files = FileSystemImage.make(folder, type, SIZE);
    files.fillAndEmpty(SIZE);
    return files;
  }

  private FileSystemImage inImage(String type, ImageOptions options) {
    FileSystemImage files = used(type);
    pool.create(name, SIZE, options);
    copy(files);
    return files;
  }

  private void copy(FileSystemImage files) {
    try (RbdImage image = open()) {
      files.writeTo(image);
    }
  }

  private void assertComplete(FileSystemImage files, String checksums) {
    assertThat(checksums).isNotEmpty();
    try (RbdImage image = pool.openReadOnly(name)) {
      files.readFrom(image);
    }
    files.check();
    assertThat(files.checksums()).isEqualTo(checksums);
  }

  @ParameterizedTest
  @ValueSource(strings = {"ext4", "xfs"})
  void freesWhatAnOnlineTrimWouldFreeAndLeavesEveryFile(String type) {
    FileSystemImage files = inImage(type, options().build());
    String checksums = files.checksums();
    long before = used();

    ReclaimResult result = reclaimed(reclaim(TRIM));

    assertThat(result.trim().isSkipped()).as(result.trim().detail()).isFalse();
    assertThat(result.before()).hasValue(before);
    assertThat(result.after()).hasValue(used());
    assertThat(result.freed()).isGreaterThan(60L * MIB);
    assertComplete(files, checksums);
    // The same file system trimmed by the kernel, copied into an image without its holes.
    FileSystemImage online = files;
    online.onlineTrim();
    long offline = used();
    name = name + "-online";
    pool.create(name, SIZE, options().build());
    copy(online);
    // Mounted, it also writes: inode tables, the journal; an object more or less for each of them.
    assertThat(offline).isCloseTo(used(), Offset.offset(16L * MIB));
  }

  @ParameterizedTest
  @ValueSource(strings = {"ext4", "xfs"})
  void trimmingTwiceFreesNothingMore(String type) {
    inImage(type, options().build());
    ReclaimResult first = reclaimed(reclaim(TRIM));
    ReclaimResult second = reclaimed(reclaim(TRIM));
    assertThat(second.before()).isEqualTo(first.after());
    assertThat(second.after()).isEqualTo(first.after());
  }

  @ParameterizedTest
  @CsvSource({"4096,0", "65536,0", "1048576,0", "4194304,0", "33554432,0", "1048576,5"})
  void anyObjectSizeAndStripingWork(int objectSize, int stripes) {
    ImageOptions.Builder options = options().objectSizeBytes(objectSize);
    if (stripes > 0) {
      Set<ImageFeature> features = new HashSet<>(MAPPED);
      features.add(ImageFeature.STRIPINGV2);
      options.features(features).stripeUnit(64 << 10).stripeCount(stripes);
    }
    FileSystemImage files = inImage("ext4", options.build());
    String checksums = files.checksums();
    ReclaimResult result = reclaimed(reclaim(TRIM));
    assertThat(result.trim().discardedBytes()).isGreaterThan(60L * MIB);
    // Few objects of 32 MiB are free as a whole.
    assertThat(result.freed()).isGreaterThan(objectSize > 4 * MIB ? -1 : 60L * MIB);
    assertComplete(files, checksums);
  }

  @Test
  void whatIsFreedInsideObjectsIsToldThoughNoObjectGoes() {
    FileSystemImage files = inImage("ext4", options().build());
    String checksums = files.checksums();
    reclaimed(reclaim(TRIM));
    long filled = fillWhatIsFreeInsideObjects();
    long exactly = exactlyUsed();
    ReclaimResult dry = reclaim(Map.of("reclaim.method", "trim", "reclaim.dryRun", "true"));

    ReclaimResult result = reclaimed(reclaim(TRIM));

    assertThat(result.freed()).isZero();
    assertThat(result.freedObjects()).isZero();
    Discarded discarded = result.trim().discarded();
    assertThat(discarded).isEqualTo(dry.trim().discarded());
    assertThat(dry.freedObjects()).isZero();
    assertThat(discarded.objects()).isZero();
    assertThat(discarded.insideBytes()).isEqualTo(discarded.bytes()).isEqualTo(filled);
    assertThat(filled).isGreaterThan(20L * MIB);
    // A diff shows what was cut off at the end of objects, and no holes.
    assertThat(exactly - exactlyUsed()).isBetween(10L * MIB, filled);
    assertThat(result.trim().toString())
        .endsWith(", " + discarded.insideBytes() + " of them inside objects that stay");
    assertComplete(files, checksums);
  }

  /** Writes to all that a trim discards: after a trim, nothing but parts of objects is left. */
  private long fillWhatIsFreeInsideObjects() {
    Random random = new Random(11);
    long[] bytes = {0};
    try (RbdImage image = open()) {
      OfflineTrim.plan(image, ReclaimPlan.DEFAULT_TRIM_GRANULARITY, Optional.empty(), () -> false)
          .plan()
          .orElseThrow()
          .forEach(
              (offset, length, whole) -> {
                assertThat(whole).isFalse();
                byte[] data = new byte[(int) length];
                random.nextBytes(data);
                image.write(offset, data);
                bytes[0] += length;
              });
    }
    return bytes[0];
  }

  @Test
  void theObjectsThatGoAreCountedByTheObjectMap() {
    inImage("ext4", options().build());
    long before = used();
    ReclaimResult result = reclaimed(reclaim(TRIM));
    assertThat(result.freedObjects()).isEqualTo((before - used()) / (4 * MIB));
    assertThat(result.freedObjects()).isEqualTo(result.trim().discarded().objects());
  }

  @Test
  void aDryRunForetellsTheUsageThatIsReached() {
    inImage("ext4", options().build());
    ReclaimResult foretold = reclaim(Map.of("reclaim.dryRun", "true"));
    assertThat(foretold.outcome()).isEqualTo(Outcome.DRY_RUN);
    ReclaimResult trimOnly = reclaim(Map.of("reclaim.dryRun", "true", "reclaim.method", "trim"));
    assertThat(trimOnly.trim().discardedBytes()).isEqualTo(foretold.trim().discardedBytes());
    ReclaimResult exact =
        reclaim(
            Map.of(
                "reclaim.dryRun", "true", "reclaim.method", "trim", "reclaim.exactUsage", "true"));
    assertThat(reclaimed(reclaim(TRIM)).after()).isEqualTo(trimOnly.after());
    assertThat(exact.after().getAsLong()).isCloseTo(exactlyUsed(), Percentage.withPercentage(1));
    assertThat(reclaimed(reclaim(Map.of())).after()).isEqualTo(foretold.after());
  }

  @Test
  void snapshotsKeepWhatTheyHadAndTheTotalDoesNotGrow() {
    FileSystemImage files = inImage("ext4", options().build());
    String checksums = files.checksums();
    try (RbdImage image = open()) {
      image.snapshots().create("s");
    }
    long total = total();
    ReclaimResult result = reclaimed(reclaim(TRIM));
    assertThat(result.freed()).isGreaterThan(60L * MIB);
    assertThat(total()).isLessThanOrEqualTo(total);
    try (RbdImage then = pool.openReadOnly(name, "s")) {
      assertSameOrZeroWhereFreed(files, then, false);
    }
    assertComplete(files, checksums);
  }

  private long total() {
    return new UsageMeter(pool)
        .byObjectMap(ImageId.find(pool, name).orElseThrow())
        .orElseThrow()
        .totalBytes();
  }

  @Test
  void aCloneNeverShowsItsParentsDataWhereItWasTrimmed() {
    String parent = name + "-parent";
    pool.create(parent, SIZE, options().build());
    try (RbdImage image = pool.open(parent)) {
      byte[] data = filled(4 * MIB, 0xAA);
      for (long at = 0; at < SIZE / 2; at += data.length) {
        image.write(at, data);
      }
      image.snapshots().create("s");
      image.snapshots().protect("s");
    }
    pool.cloneImage(parent, "s", pool, name, options().build());
    FileSystemImage files = used("ext4");
    try (RbdImage image = open()) {
      image.writeZeroes(0, SIZE / 2);
      files.writeTo(image);
    }
    String checksums = files.checksums();
    long exact = exactlyUsed();
    ReclaimResult result = reclaimed(reclaim(TRIM));
    assertThat(result.trim().discardedBytes()).isGreaterThan(60L * MIB);
    assertThat(exactlyUsed()).isLessThan(exact);
    try (RbdImage image = open()) {
      assertSameOrZeroWhereFreed(files, image, true);
    }
    assertComplete(files, checksums);
  }

  /** Compares an image with the file that was copied into it. */
  private static void assertSameOrZeroWhereFreed(
      FileSystemImage files, RbdImage image, boolean zeroesAllowed) {
    byte[] expected = new byte[MIB];
    try (RandomAccessFile in = new RandomAccessFile(files.file().toFile(), "r")) {
      for (long at = 0; at < SIZE; at += MIB) {
        in.readFully(expected);
        byte[] data = image.read(at, MIB);
        for (int i = 0; i < MIB; i++) {
          if (data[i] != expected[i] && !(zeroesAllowed && data[i] == 0)) {
            throw new AssertionError("data of somebody else at " + (at + i));
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private long exactlyUsed() {
    return new UsageMeter(pool)
        .measure(
            ImageId.find(pool, name).orElseThrow(), new UsageQuery(true, false, Long.MAX_VALUE))
        .orElseThrow()
        .headBytes();
  }

  @Test
  void aCloneInheritsWhatItNeverWroteAndTrimDoesNotMakeItGrow() {
    FileSystemImage files = used("ext4");
    String parent = name;
    pool.create(parent, SIZE, options().build());
    copy(files);
    try (RbdImage image = open()) {
      image.snapshots().create("s");
      image.snapshots().protect("s");
    }
    name = parent + "-clone";
    pool.cloneImage(parent, "s", pool, name, options().build());
    ReclaimResult result = reclaimed(reclaim(TRIM));
    assertThat(result.after()).hasValue(0);
    assertComplete(files, files.checksums());
  }

  @Test
  void anImageWithoutExclusiveLockIsTrimmedOnlyIfItMayBeEnabled() {
    FileSystemImage files =
        inImage("ext4", options().features(Set.of(ImageFeature.LAYERING)).build());
    String checksums = files.checksums();
    ReclaimResult untouched = reclaimed(reclaim(TRIM));
    assertThat(untouched.trim().reason()).isEqualTo("no_exclusive_lock");
    assertThat(untouched.after()).isEqualTo(untouched.before());
    ReclaimResult trimmed =
        reclaimed(reclaim(Map.of("reclaim.method", "trim", "reclaim.enableLock", "true")));
    assertThat(trimmed.trim().isSkipped()).isFalse();
    assertThat(trimmed.freed()).isGreaterThan(60L * MIB);
    try (RbdImage image = pool.openReadOnly(name)) {
      assertThat(image.features()).contains(ImageFeature.EXCLUSIVE_LOCK);
    }
    assertComplete(files, checksums);
  }

  @ParameterizedTest
  @ValueSource(strings = {"ext4", "xfs"})
  void aFileSystemThatIsMountedIsNotTrimmed(String type) throws IOException {
    FileSystemImage files = used(type);
    pool.create(name, SIZE, options().build());
    Path frozen = folder.resolve("frozen.img");
    files.mounted("echo data > new; sync -f .; cp --sparse=always " + files.file() + " " + frozen);
    try (RbdImage image = open();
        RandomAccessFile in = new RandomAccessFile(frozen.toFile(), "r")) {
      byte[] data = new byte[4 * MIB];
      for (long at = 0; at < SIZE; at += data.length) {
        in.readFully(data);
        image.write(at, data);
      }
    }
    assertNothingTrimmed("not_clean", "journal_not_empty");
  }

  private void assertNothingTrimmed(String... reasons) {
    long before = exactlyUsed();
    ReclaimResult result = reclaimed(reclaim(TRIM));
    assertThat(result.trim().reason()).isIn((Object[]) reasons);
    assertThat(result.trim().discardedBytes()).isZero();
    assertThat(exactlyUsed()).isEqualTo(before);
    // Sparsify goes on all the same.
    assertThat(reclaimed(reclaim(Map.of())).trim().reason()).isIn((Object[]) reasons);
  }

  /** A machine that is suspended may have its memory there, and leaves no mark in it. */
  @Test
  void aSwapAreaThatIsTheWholeImageIsTrimmedWhenItIsAskedForAndNotWithItsPool() {
    DiskImage disk =
        DiskImage.make(
            folder,
            64L * MIB,
            "mkswap $DISK >/dev/null;"
                + " head -c 32M /dev/urandom | dd of=$DISK bs=1M seek=8 conv=notrunc 2>/dev/null");
    pool.create(name, 64L * MIB, options().objectSizeBytes(MIB).build());
    try (RbdImage image = open()) {
      FileCopy.toImage(disk.file(), image);
    }
    try (RbdImage image = pool.openReadOnly(name)) {
      assertThat(TrimEstimate.of(image, ReclaimPlan.DEFAULT, () -> false).reason())
          .isEqualTo("swap_alone");
    }
    ReclaimResult result = reclaimed(reclaim(TRIM));
    assertThat(result.trim().fileSystem()).isEqualTo("swap space");
    assertThat(result.after()).hasValue(MIB); // its header
  }

  @Test
  void aPlanThatIsToldToStopReadsNoFurther() {
    pool.create(name, 64L * MIB, options().build());
    AtomicInteger asked = new AtomicInteger();
    try (RbdImage image = open();
        OfflineTrim.Planned planned =
            OfflineTrim.plan(
                image,
                ReclaimPlan.DEFAULT_TRIM_GRANULARITY,
                Optional.empty(),
                () -> asked.incrementAndGet() > 1)) {
      assertThat(planned.report().reason()).isEqualTo("gave_way");
      assertThat(planned.plan()).isEmpty();
    }
    assertThat(asked).hasValue(2);
  }

  /** Puts a disk into an image, reclaims, and takes it back. */
  private ReclaimResult reclaimedDisk(DiskImage disk, long bytes) {
    pool.create(name, bytes, options().objectSizeBytes(MIB).build());
    try (RbdImage image = open()) {
      FileCopy.toImage(disk.file(), image);
    }
    ReclaimResult foretold = reclaim(Map.of("reclaim.method", "trim", "reclaim.dryRun", "true"));
    ReclaimResult result = reclaimed(reclaim(TRIM));
    assertThat(result.trim().isSkipped()).as(result.trim().detail()).isFalse();
    assertThat(foretold.trim().discardedBytes()).isEqualTo(result.trim().discardedBytes());
    assertThat(foretold.trim().content()).isEqualTo(result.trim().content()).isPresent();
    assertThat(foretold.after()).isEqualTo(result.after());
    try (RbdImage image = pool.openReadOnly(name)) {
      FileCopy.fromImage(image, disk.file());
    }
    disk.takeBack();
    return result;
  }

  @Test
  void theFreeSpaceOfPartitionsAndLogicalVolumesIsDiscarded() {
    long m = MIB * SCALE;
    long size = 1200 * m;
    DosImage efi = DosImage.fat(folder, 64 * m);
    FileSystemImage boot = filled("ext4", 128 * SCALE);
    FileSystemImage root = filled("xfs", 320 * SCALE);
    FileSystemImage home = filled("ext4", 256 * SCALE);
    DiskImage disk =
        DiskImage.make(
            folder,
            size,
            """
            sgdisk -n 1:1M:+%1$dM -n 2:%2$dM:+%1$dM -n 3:%3$dM:+%4$dM -n 4:%5$dM:+%6$dM $DISK >/dev/null
            f=$(mktemp -p %7$s)
            truncate -s %1$dM $f; mkswap $f >/dev/null
            head -c %8$dM /dev/urandom | dd of=$f bs=1M seek=8 conv=notrunc 2>/dev/null
            dd if=$f of=$DISK bs=1M seek=%2$d conv=notrunc 2>/dev/null; rm $f
            """
                .formatted(
                    64 * SCALE,
                    65 * SCALE,
                    130 * SCALE,
                    128 * SCALE,
                    260 * SCALE,
                    900 * SCALE,
                    folder,
                    32 * SCALE));
    disk.add(MIB, efi.file());
    disk.add(130 * m, boot.file());
    disk.addVolumes(
        260 * m,
        900 * m,
        "pvcreate -q $PV; vgcreate -q vg $PV; lvcreate -n root -L %dM vg; lvcreate -n home -L %dM vg"
            .formatted(320 * SCALE, 256 * SCALE),
        Map.of("root", root.file(), "home", home.file()));
    List<String> before =
        List.of(efi.checksums(), boot.checksums(), root.checksums(), home.checksums());

    ReclaimResult result = reclaimedDisk(disk, size);

    assertThat(result.trim().fileSystem()).isEqualTo("FAT, swap space, ext4, XFS");
    assertThat(result.freed()).isGreaterThan(200 * m);
    efi.check();
    List.of(boot, root, home).forEach(FileSystemImage::check);
    assertThat(List.of(efi.checksums(), boot.checksums(), root.checksums(), home.checksums()))
        .isEqualTo(before);
    ContentNode content = result.trim().content().orElseThrow();
    assertThat(content.leaves())
        .extracting(ContentNode::freeBytes)
        .containsExactly(
            efi.freeBytes(), 64 * m - 4096, boot.freeBytes(), root.freeBytes(), home.freeBytes());
    assertThat(reclaimed(reclaim(TRIM)).freed()).isZero();
    long left = used();
    List.of(boot, root, home).forEach(FileSystemImage::onlineTrim);
    assertNoMoreIsLeft(left, disk, size);
  }

  /**
   * Requires that no more is left of a disk than when its parts, as they are by now, are put in.
   */
  private void assertNoMoreIsLeft(long left, DiskImage disk, long size) {
    disk.putIn();
    name = name + "-expected";
    pool.create(name, size, options().objectSizeBytes(MIB).build());
    try (RbdImage image = open()) {
      FileCopy.toImage(disk.file(), image);
    }
    long expected = used();
    System.out.printf(
        "a disk of %d MiB: %d MiB are left, %d expected%n", size / MIB, left / MIB, expected / MIB);
    assertThat(left).isLessThanOrEqualTo(expected * 102 / 100 + 4 * MIB);
  }

  @Test
  void theFreeSpaceOfADiskOfWindowsIsDiscarded() {
    long m = MIB * SCALE;
    long size = 500 * m;
    DosImage efi = DosImage.fat(folder, 64 * m);
    DosImage system = DosImage.ntfs(folder, 300 * m);
    DiskImage disk =
        DiskImage.make(
            folder,
            size,
            "sgdisk -n 1:1M:+%1$dM -t 1:ef00 -n 2:%2$dM:+16M -t 2:0c01 -n 3:%3$dM:+%4$dM"
                .concat(" -t 3:0700 $DISK >/dev/null")
                .formatted(64 * SCALE, 65 * SCALE, 81 * SCALE, 300 * SCALE));
    disk.add(MIB, efi.file());
    disk.add(81 * m, system.file());
    List<String> before = List.of(efi.checksums(), system.checksums());

    ReclaimResult result = reclaimedDisk(disk, size);

    assertThat(result.trim().fileSystem()).isEqualTo("FAT, NTFS");
    assertThat(result.trim().toString()).contains("but not partition 2");
    assertThat(result.freed()).isGreaterThan(60 * m);
    efi.check();
    system.check();
    assertThat(List.of(efi.checksums(), system.checksums())).isEqualTo(before);
    assertThat(result.trim().content().orElseThrow().leaves())
        .extracting(ContentNode::freeBytes)
        .containsExactly(efi.freeBytes(), 0L, system.freeBytes());
    long left = used();
    system.punchFree();
    assertNoMoreIsLeft(left, disk, size);
  }

  private FileSystemImage filled(String type, long megabytes) {
    FileSystemImage made = FileSystemImage.make(folder, type, megabytes * MIB);
    made.fillAndEmpty(megabytes * MIB);
    return made;
  }

  @Test
  void encryptedImagesAreNotTrimmedAndReportedAsSuch() {
    Path file = folder.resolve("luks.img");
    Commands.run(
        List.of(
            "bash",
            "-c",
            "truncate -s 64M "
                + file
                + " && echo -n secret | cryptsetup -q luksFormat --pbkdf pbkdf2"
                + " --pbkdf-force-iterations 1000 "
                + file
                + " -"));
    pool.create(name, 64L * MIB, options().build());
    try (RbdImage image = open();
        RandomAccessFile in = new RandomAccessFile(file.toFile(), "r")) {
      byte[] data = new byte[4 * MIB];
      in.readFully(data);
      image.write(0, data);
      image.write(32L * MIB, filled(MIB, 1));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    assertNothingTrimmed("encrypted");
  }

  @Test
  void whatIsNotAFileSystemIsNotTrimmed() {
    pool.create(name, 64L * MIB, options().build());
    try (RbdImage image = open()) {
      image.write(8L * MIB, filled(MIB, 1));
    }
    assertNothingTrimmed("no_file_system");
    try (RbdImage image = open()) {
      byte[] noise = new byte[MIB];
      new Random(3).nextBytes(noise);
      image.write(0, noise);
    }
    assertNothingTrimmed("no_file_system");
  }
}
