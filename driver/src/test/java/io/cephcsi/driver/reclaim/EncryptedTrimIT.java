package io.cephcsi.driver.reclaim;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.HeaderLock;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.kms.KeyDerivation;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.reclaim.fs.ContentNode;
import io.cephcsi.driver.reclaim.fs.FileSystemKind;
import io.cephcsi.driver.reclaim.luks.TestLuks;
import io.cephcsi.driver.testing.DiskImage;
import io.cephcsi.driver.testing.FileSystemImage;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** File systems in LUKS2, whose free space is discarded by the passphrase. */
class EncryptedTrimIT extends ReclaimCase {
  private static final String PASSPHRASE = "the passphrase of the volume";
  private static final Map<String, String> DECRYPT =
      Map.of("reclaim.method", "trim", "reclaim.decrypt", "true");
  private static final long EXT4 = 96L * MIB;
  private static final long XFS = 320L * MIB; // none is smaller

  @TempDir private Path folder;
  private String known = PASSPHRASE;

  private record Encrypted(ReclaimTarget target, String text) implements WrappedTarget {
    @Override
    public Optional<Passphrase> passphrase() {
      return Optional.of(Passphrase.of(text.getBytes(UTF_8)));
    }
  }

  @Override
  ReclaimTarget target() {
    return new Encrypted(super.target(), known);
  }

  private TestLuks inImage(FileSystemImage files, long size, int sector, int objectSize) {
    files.fillAndEmpty(size);
    return inImage(files.file(), size, sector, objectSize);
  }

  private TestLuks inImage(Path content, long size, int sector, int objectSize) {
    TestLuks luks =
        TestLuks.format(
            folder,
            TestLuks.OFFSET + 4L * MIB,
            PASSPHRASE,
            "--sector-size",
            Integer.toString(sector));
    pool.create(name, TestLuks.OFFSET + size, options().objectSizeBytes(objectSize).build());
    try (RbdImage image = open()) {
      luks.writeTo(image, content, sector);
    }
    return luks;
  }

  @ParameterizedTest
  @CsvSource({
    "ext4,4096,65536,1024", // objects that are cut off at any place, blocks smaller than sectors
    "ext4,512,1048576,4096",
    "xfs,4096,4194304,0",
  })
  void whatTheFileSystemDoesNotUseIsDiscardedAndEveryFileIsWhole(
      String type, int sector, int objectSize, int block) {
    boolean xfs = type.equals("xfs");
    FileSystemImage files =
        xfs
            ? FileSystemImage.make(folder, type, XFS)
            : FileSystemImage.make(folder, type, EXT4, "-b", Integer.toString(block));
    TestLuks luks = inImage(files, xfs ? XFS : EXT4, sector, objectSize);
    String checksums = files.checksums();
    long before = used();

    ReclaimResult opaque = reclaimed(reclaim(Map.of("reclaim.method", "trim")));
    assertThat(opaque.trim().reason()).isEqualTo("encrypted");
    assertThat(used()).isEqualTo(before);
    ReclaimResult foretold =
        reclaim(
            Map.of("reclaim.method", "trim", "reclaim.decrypt", "true", "reclaim.dryRun", "true"));
    assertThat(used()).isEqualTo(before);

    ReclaimResult result = reclaimed(reclaim(DECRYPT));

    assertThat(result.trim().isSkipped()).as(result.trim().detail()).isFalse();
    assertThat(result.trim().fileSystem()).isEqualTo((xfs ? "XFS" : type) + " in LUKS");
    assertThat(result.freed()).isGreaterThan(20L * MIB);
    assertThat(foretold.trim().discardedBytes()).isEqualTo(result.trim().discardedBytes());
    assertThat(foretold.after()).isEqualTo(result.after());
    try (RbdImage image = pool.openReadOnly(name)) {
      luks.readFrom(image, files.file(), sector);
    }
    files.check();
    assertThat(files.checksums()).isNotEmpty().isEqualTo(checksums);
    assertThat(reclaimed(reclaim(DECRYPT)).freed()).isZero();
  }

  @Test
  void whatLogicalVolumesInItDoNotUseIsDiscardedAndEveryFileIsWhole() {
    FileSystemImage files = FileSystemImage.make(folder, "ext4", EXT4);
    files.fillAndEmpty(EXT4);
    long size = EXT4 + 8L * MIB;
    DiskImage disk = DiskImage.make(folder, size, "true");
    disk.addVolumes(
        0,
        size,
        "pvcreate -q $PV; vgcreate -q vg $PV; lvcreate -n root -L 96M vg",
        Map.of("root", files.file()));
    TestLuks luks = inImage(disk.file(), size, 4096, MIB);
    String checksums = files.checksums();

    ReclaimResult result = reclaimed(reclaim(DECRYPT));

    assertThat(result.trim().fileSystem()).isEqualTo("ext4 in LUKS");
    assertThat(result.freed()).isGreaterThan(20L * MIB);
    ContentNode content = result.trim().content().orElseThrow();
    assertThat(content.kind()).isEqualTo(FileSystemKind.LUKS);
    assertThat(content.parts().get(0).kind()).isEqualTo(FileSystemKind.LVM2);
    assertThat(content.leaves())
        .singleElement()
        .satisfies(
            leaf -> {
              assertThat(leaf.name()).isEqualTo("vg/root");
              assertThat(leaf.freeBytes()).isEqualTo(files.freeBytes());
              assertThat(leaf.offset()).isEqualTo(TestLuks.OFFSET + MIB);
            });
    try (RbdImage image = pool.openReadOnly(name)) {
      luks.readFrom(image, disk.file(), 4096);
    }
    disk.takeBack();
    files.check();
    assertThat(files.checksums()).isNotEmpty().isEqualTo(checksums);
  }

  @Test
  void anotherPassphraseIsAnErrorAndChangesNothing() {
    inImage(FileSystemImage.make(folder, "ext4", EXT4), EXT4, 4096, 4 * MIB);
    long before = used();
    known = "another passphrase";
    assertThatThrownBy(() -> reclaim(DECRYPT))
        .hasRootCauseInstanceOf(VolumeException.class)
        .satisfies(
            e -> {
              VolumeException cause = (VolumeException) e.getCause();
              assertThat(cause.reason()).isEqualTo(Reason.FAILED_PRECONDITION);
              assertThat(cause).hasMessageContaining("does not open the image");
              assertThat(cause.getMessage()).doesNotContain(known, PASSPHRASE);
            });
    assertThat(used()).isEqualTo(before);
  }

  /** Keys are made one at a time; a header may ask for minutes. */
  @Test
  void theImageIsNotLockedWhileItsKeyIsMadeAndTheReclaimGivesWay() throws Exception {
    inImage(FileSystemImage.make(folder, "ext4", EXT4), EXT4, 4096, 4 * MIB);
    long before = used();
    CountDownLatch busy = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    CompletableFuture<Boolean> other =
        CompletableFuture.supplyAsync(
            () ->
                KeyDerivation.inTurn(
                    32 << 10,
                    4,
                    Deadline.after(Duration.ofMinutes(1)),
                    () -> {
                      busy.countDown();
                      return awaitEnd(end);
                    }));
    assertThat(busy.await(20, TimeUnit.SECONDS)).isTrue();
    try {
      CompletableFuture<ReclaimResult> reclaim = reclaimAside(DECRYPT);
      try (RbdImage image = pool.openReadOnly(name)) {
        for (int i = 0; i < 20; i++) {
          TimeUnit.MILLISECONDS.sleep(100);
          assertThat(image.watchers()).isEmpty();
          assertThat(HeaderLock.holders(pool, image.id())).isEmpty();
        }
      }
      assertThat(reclaim).isNotDone();
      operations.cancelAll();
      ReclaimResult result = reclaim.get(10, TimeUnit.SECONDS);
      assertThat(result.outcome()).isEqualTo(ReclaimResult.Outcome.SKIPPED);
      assertThat(result.trim().reason()).isEqualTo("cancelled");
    } finally {
      end.countDown();
    }
    assertThat(other.get(20, TimeUnit.SECONDS)).isTrue();
    assertThat(used()).isEqualTo(before);
    assertThat(reclaimed(reclaim(DECRYPT)).freed()).isGreaterThan(20L * MIB);
  }

  private static boolean awaitEnd(CountDownLatch latch) {
    try {
      return latch.await(40, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void zeroesAreLookedForInCiphertextOnlyWhenNothingElseIsAskedFor() {
    inImage(FileSystemImage.make(folder, "ext4", EXT4), EXT4, 4096, MIB);
    try (RbdImage image = open()) {
      image.resize(TestLuks.OFFSET + EXT4 + MIB, false, (done, total) -> true);
      image.write(TestLuks.OFFSET + EXT4, new byte[MIB]);
    }
    long before = used();
    assertThat(both("false")).isEqualTo(before);
    long trimmed = both("true");
    assertThat(trimmed).isLessThan(before - 20L * MIB);
    reclaimed(reclaim(Map.of("reclaim.method", "sparsify")));
    assertThat(used()).isEqualTo(trimmed - MIB);
  }

  /** What is used after a reclaim that foretold it. */
  private long both(String decrypt) {
    Map<String, String> both = Map.of("reclaim.method", "both", "reclaim.decrypt", decrypt);
    Map<String, String> dry = new HashMap<>(both);
    dry.put("reclaim.dryRun", "true");
    ReclaimResult foretold = reclaim(dry);
    ReclaimResult result = reclaimed(reclaim(both));
    assertThat(foretold.after()).isEqualTo(result.after());
    return used();
  }

  @Test
  void whatIsNotEncryptedIsTrimmedAsEver() {
    FileSystemImage files = FileSystemImage.make(folder, "ext4", EXT4);
    files.fillAndEmpty(EXT4);
    pool.create(name, EXT4, options().objectSizeBytes(MIB).build());
    try (RbdImage image = open()) {
      files.writeTo(image);
    }
    ReclaimResult result = reclaimed(reclaim(DECRYPT));
    assertThat(result.trim().fileSystem()).isEqualTo("ext4");
    assertThat(result.freed()).isGreaterThan(20L * MIB);
  }
}
