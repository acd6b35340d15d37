package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class RbdImageIT extends RbdCase {
  private static void assertErrno(Errno errno, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(CephException.class, e -> assertThat(e.errno()).isEqualTo(errno));
  }

  @Test
  void dataOfAnySizeAndOffsetComesBack() {
    create(PLAIN, 8);
    byte[] data = new byte[5 * OBJECT + 12345];
    new Random(1).nextBytes(data);
    try (RbdImage image = pool.open(name)) {
      image.write(777, data);
      assertThat(image.read(777, data.length)).isEqualTo(data);
      image.write(0, new byte[0]);
      assertThat(image.read(0, 0)).isEmpty();
      image.flush();
      try (RbdImage reader = pool.openReadOnly(name)) {
        assertThat(reader.read(777, data.length)).isEqualTo(data);
      }
    }
  }

  @Test
  void theEndOfTheImageCutsWhatBeginsBeforeItAndRefusesTheRest() {
    create(PLAIN, 1);
    try (RbdImage image = pool.open(name)) {
      assertThat(image.read(OBJECT - 10, 100)).hasSize(10);
      image.write(OBJECT - 10, filled(100, 3));
      assertThat(image.read(OBJECT - 10, 10)).isEqualTo(filled(10, 3));
      assertErrno(Errno.EINVAL, () -> image.read(OBJECT + 1, 10));
      assertErrno(Errno.EINVAL, () -> image.write(OBJECT + 1, filled(10, 1)));
      assertErrno(Errno.EINVAL, () -> image.discard(OBJECT + 1, 10));
    }
  }

  @Test
  void closingTwiceIsFineAndUseAfterCloseIsNot() {
    create(PLAIN, 1);
    RbdImage image = pool.open(name);
    assertThatThrownBy(io::close).isInstanceOf(IllegalStateException.class);
    image.close();
    image.close();
    assertThat(image.isClosed()).isTrue();
    assertThatThrownBy(image::size).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> image.read(0, 1)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> image.discardAsync(0, 1)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> image.discardPipeline(2)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> image.snapshots().list()).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> image.metadata().get("k")).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> image.lock().isOwner()).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> image.sparsify(4096, Progress.NONE))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void anImageOpenedForReadingCannotBeWrittenAndHasNoWatcher() {
    create(MAPPED, 1);
    try (RbdImage image = pool.openReadOnly(name)) {
      assertErrno(Errno.EROFS, () -> image.write(0, filled(1, 1)));
      assertErrno(Errno.EROFS, () -> image.discard(0, OBJECT));
      assertErrno(Errno.EROFS, () -> image.sparsify(4096, Progress.NONE));
      assertErrno(Errno.EROFS, () -> image.resize(OBJECT * 2L, false, Progress.NONE));
      assertThat(image.watchers()).isEmpty();
    }
  }

  @Test
  void watchersShowWhoHasTheImageOpen() {
    create(MAPPED, 1);
    try (RadosCluster other = ceph.connect();
        IoContext otherIo = other.openPool(ceph.pool());
        RbdImage image = pool.open(name)) {
      Watcher own = image.watchers().get(0);
      assertThat(own.clientId()).isEqualTo(cluster.instanceId());
      try (RbdImage theirs = new RbdPool(otherIo).open(name)) {
        assertThat(image.watchers())
            .hasSize(2)
            .contains(own)
            .anySatisfy(
                watcher -> {
                  assertThat(watcher.clientId()).isEqualTo(other.instanceId());
                  assertThat(other.addresses()).contains(watcher.address());
                });
        assertThat(rbdJson("status", spec()).get("watchers")).hasSize(2);
      }
      assertThat(image.watchers()).containsExactly(own);
    }
  }

  @Test
  void resizingGrowsShrinksAndAsksBeforeItCutsDataOff() {
    create(MAPPED, 4);
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 4, 1);
      assertErrno(Errno.EINVAL, () -> image.resize(OBJECT, false, Progress.NONE));
      List<Long> seen = new ArrayList<>();
      image.resize(
          OBJECT,
          true,
          (done, total) -> {
            seen.add(done);
            return true;
          });
      assertThat(seen).isNotEmpty();
      assertThat(image.size()).isEqualTo(OBJECT);
      assertThat(allocatedBytes()).isEqualTo(OBJECT);
      image.resize(3L * OBJECT, false, Progress.NONE);
      assertThat(image.read(2 * OBJECT, 10)).isEqualTo(new byte[10]);
      assertThat(rbdJson("info", spec()).get("size").asLong()).isEqualTo(3L * OBJECT);
      ceph.rbd("resize", spec(), "--size", "5M");
      assertThat(image.size()).isEqualTo(5L * OBJECT);
    }
  }

  @Test
  void aSparseImageOfATebibyteIsReadAndWrittenAtItsEnd() {
    long size = 1L << 40;
    pool.create(name, size, ImageOptions.builder().features(MAPPED).build());
    try (RbdImage image = pool.open(name)) {
      assertThat(image.info()).isEqualTo(new ImageInfo(size, 4 << 20, 1 << 18, 22));
      image.write(size - 4096, filled(4096, 8));
      assertThat(image.read(size - 8192, 8192)).startsWith(0).endsWith(8);
      List<Long> extents = new ArrayList<>();
      image.diff(
          Optional.empty(), 0, size, true, true, (offset, length, exists) -> extents.add(offset));
      assertThat(extents).containsExactly(size - (4 << 20));
      // Longer than an int: cut into pieces.
      image.discard(size - (5L << 30), 5L << 30);
      assertThat(image.read(size - 4096, 4096)).isEqualTo(new byte[4096]);
      image.writeZeroes(size - (3L << 30), 3L << 30);
    }
    pool.remove(name, Progress.NONE);
  }

  @Test
  void aDiscardInsideAnObjectIsRoundedInwardsAndZeroesAreExact() {
    create(PLAIN, 1);
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 1, 1);
      image.discard(1000, 100_000);
      assertThat(image.read(60_000, 1)).isEqualTo(filled(1, 1));
      assertThat(image.read(1 << 17, 1)).isEqualTo(filled(1, 1));
      image.writeZeroes(1000, 100_000);
      assertThat(image.read(999, 1)).isEqualTo(filled(1, 1));
      assertThat(image.read(1000, 100_000)).isEqualTo(new byte[100_000]);
      assertThat(image.read(101_000, 1)).isEqualTo(filled(1, 1));
    }
  }

  @Test
  void featuresAreSwitchedAndTheObjectMapIsRebuilt() {
    create(LOCKED, 4);
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 2, 1);
      image.updateFeatures(EnumSet.of(ImageFeature.OBJECT_MAP, ImageFeature.FAST_DIFF), true);
      assertThat(image.features())
          .isEqualTo(
              Set.of(
                  ImageFeature.LAYERING,
                  ImageFeature.EXCLUSIVE_LOCK,
                  ImageFeature.OBJECT_MAP,
                  ImageFeature.FAST_DIFF));
      assertThat(image.flags())
          .containsExactlyInAnyOrder(ImageFlag.OBJECT_MAP_INVALID, ImageFlag.FAST_DIFF_INVALID);
      List<Long> seen = new ArrayList<>();
      image.rebuildObjectMap(
          (done, total) -> {
            seen.add(done);
            return true;
          });
      assertThat(seen).isNotEmpty();
      assertThat(image.flags()).isEmpty();
      image.updateFeatures(EnumSet.of(ImageFeature.OBJECT_MAP, ImageFeature.FAST_DIFF), false);
      assertThat(rbdJson("info", spec()).get("features").toString()).doesNotContain("object-map");
      assertErrno(
          Errno.EINVAL, () -> image.updateFeatures(EnumSet.of(ImageFeature.DEEP_FLATTEN), true));
    }
  }

  private static boolean isBlocklisted(RbdImage image) {
    try {
      image.write(OBJECT, filled(4096, 2));
      image.flush();
      return false;
    } catch (CephException.Blocklisted e) {
      return true;
    }
  }

  @Test
  void aBlocklistedClientIsToldAndCanCloseEverything() {
    create(MAPPED, 4);
    try (RadosCluster doomed = ceph.connect();
        IoContext doomedIo = doomed.openPool(ceph.pool());
        RbdImage image = new RbdPool(doomedIo).open(name);
        DiscardPipeline pipeline = image.discardPipeline(4)) {
      image.write(0, filled(4096, 1));
      image.flush();
      cluster.blocklist(doomed.addresses(), Duration.ofHours(1));
      // Until the OSD knows of it, writes succeed.
      Awaitility.await().until(() -> isBlocklisted(image));
      assertThatThrownBy(
              () -> {
                image.write(OBJECT, filled(4096, 2));
                image.flush();
              })
          .isInstanceOf(CephException.Blocklisted.class);
      assertThatThrownBy(
              () -> {
                pipeline.discard(0, OBJECT);
                pipeline.drain();
              })
          .isInstanceOf(CephException.Blocklisted.class);
      assertThatThrownBy(() -> image.metadata().set("k", "v"))
          .isInstanceOf(CephException.Blocklisted.class);
      RbdCompletion completion = image.discardAsync(0, OBJECT);
      assertThatThrownBy(completion::await).isInstanceOf(CephException.Blocklisted.class);
      completion.close();
    }
    try (RbdImage image = pool.open(name)) {
      assertThat(image.read(0, 4096)).isEqualTo(filled(4096, 1));
    }
  }
}
