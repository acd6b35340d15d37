package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.testing.MirroredClusters;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.Arrays;
import java.util.UUID;
import java.util.concurrent.Callable;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Images that two clusters mirror to each other. */
class ImageMirrorIT {
  private static final int SIZE = 4 << 20;
  private static final Duration LONGEST = Duration.ofSeconds(90);

  private static MirroredClusters clusters;
  private static Site here;
  private static Site there;

  private final String name = "image-" + UUID.randomUUID();

  /** A cluster, and its pool. */
  private record Site(RadosCluster cluster, IoContext io, RbdPool pool) {
    static Site of(TestCluster ceph) {
      RadosCluster cluster = ceph.connect();
      IoContext io = cluster.openPool(ceph.pool());
      return new Site(cluster, io, new RbdPool(io));
    }

    void close() {
      io.close();
      cluster.close();
    }
  }

  @BeforeAll
  static void start() {
    clusters = MirroredClusters.start("mirror");
    here = Site.of(clusters.first());
    there = Site.of(clusters.second());
  }

  @AfterAll
  static void end() {
    here.close();
    there.close();
    clusters.close();
  }

  private static void soon(Callable<Boolean> condition) {
    await()
        .atMost(LONGEST)
        .pollInterval(Duration.ofMillis(200))
        .ignoreExceptionsInstanceOf(CephException.NotFound.class)
        .until(condition);
  }

  private static void assertInvalid(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            CephException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EINVAL));
  }

  private static void awaitCopy(RbdPool pool, String name) {
    soon(
        () -> {
          try (RbdImage copy = pool.openReadOnly(name)) {
            MirrorStatus status = copy.mirror().status();
            return status.local().stream().anyMatch(s -> s.isUp(MirrorSite.State.REPLAYING))
                && status.remote().stream().anyMatch(s -> s.isUp(MirrorSite.State.STOPPED))
                && !status.info().orElseThrow().primary()
                && !copy.mirror().instanceId().isEmpty();
          }
        });
  }

  private static void awaitData(RbdPool pool, String name, long offset, byte[] data) {
    soon(
        () -> {
          try (RbdImage copy = pool.openReadOnly(name)) {
            return Arrays.equals(copy.read(offset, data.length), data);
          }
        });
  }

  private static void awaitPromotion(RbdPool pool, String name) {
    soon(
        () -> {
          try (RbdImage image = pool.open(name)) {
            image.mirror().promote(false);
            return true;
          } catch (CephException.Busy e) {
            return false;
          }
        });
  }

  @ParameterizedTest
  @EnumSource
  void thePrimaryWandersFromSiteToSiteWithItsData(MirrorMode mode) {
    here.pool().create(name, SIZE, RbdCase.with(RbdCase.MAPPED));
    byte[] data = RbdCase.filled(4096, 7);
    try (RbdImage image = here.pool().open(name)) {
      assertThat(image.mirroring()).isEmpty();
      image.write(0, data);
      image.flush();
      image.mirror().enable(mode);
      image.mirror().enable(mode);
      assertThat(image.mirror().mode()).isEqualTo(mode);
      assertThat(image.mirroring().orElseThrow().primary()).isTrue();
      assertInvalid(() -> image.mirror().promote(false));
      assertInvalid(() -> image.mirror().resync());
    }
    awaitCopy(there.pool(), name);
    try (RbdImage copy = there.pool().open(name)) {
      assertThatThrownBy(() -> copy.mirror().promote(false)).isInstanceOf(CephException.Busy.class);
      assertInvalid(() -> copy.mirror().disable(false));
      assertInvalid(() -> copy.mirror().demote());
    }
    try (RbdImage image = here.pool().open(name)) {
      MirrorStatus status = image.mirror().status();
      assertThat(status.info()).isEqualTo(image.mirroring());
      assertThat(status.local().orElseThrow().show()).isEqualTo("up+stopped");
      assertThat(status.remote())
          .singleElement()
          .satisfies(site -> assertThat(site.description()).startsWith("replaying, {"));
      image.mirror().demote();
      assertThat(image.mirroring().orElseThrow().primary()).isFalse();
    }
    awaitPromotion(there.pool(), name);
    try (RbdImage image = there.pool().open(name)) {
      assertThat(image.mirroring().orElseThrow().primary()).isTrue();
      assertThat(image.read(0, data.length)).isEqualTo(data);
      image.write(4096, data);
      image.flush();
      if (mode == MirrorMode.SNAPSHOT) {
        image.mirror().createSnapshot();
      }
    }
    awaitCopy(here.pool(), name);
    // The daemon removes a copy only if it knows its primary: once it copied what that wrote.
    awaitData(here.pool(), name, 4096, data);
    try (RbdImage image = there.pool().open(name)) {
      image.mirror().disable(false);
      assertThat(image.mirroring()).isEmpty();
    }
    soon(() -> here.pool().list().stream().noneMatch(image -> image.name().equals(name)));
    there.pool().remove(name, Progress.NONE);
  }

  @Test
  void snapshotsOfAPrimaryAreCopied() {
    here.pool().create(name, SIZE, RbdCase.with(RbdCase.MAPPED));
    byte[] data = RbdCase.filled(4096, 9);
    try (RbdImage image = here.pool().open(name)) {
      image.mirror().enable(MirrorMode.SNAPSHOT);
      image.write(0, data);
      long id = image.mirror().createSnapshot();
      assertThat(image.snapshots().list())
          .anyMatch(s -> s.id() == id && s.namespace() == SnapshotNamespace.MIRROR);
    }
    soon(
        () -> {
          try (RbdImage copy = there.pool().openReadOnly(name)) {
            return copy.snapshots().list().size() > 0
                && Arrays.equals(copy.read(0, data.length), data);
          }
        });
    clusters.cut(); // the image is the daemon's until its watch ends
    try (RbdImage copy = there.pool().open(name)) {
      copy.mirror().promote(true);
      assertThat(copy.mirroring().orElseThrow().primary()).isTrue();
      assertThat(copy.read(0, data.length)).isEqualTo(data);
      copy.mirror().disable(true);
    }
    try (RbdImage image = here.pool().open(name)) {
      image.mirror().disable(true);
    }
    clusters.join();
    here.pool().remove(name, Progress.NONE);
    there.pool().remove(name, Progress.NONE);
  }

  @Test
  void aPoolThatIsNotMirroredRefuses() {
    assertThat(here.pool().mirrorMode()).isEqualTo(PoolMirrorMode.IMAGE);
    try (IoContext io = here.cluster().openPool(clusters.first().otherPool())) {
      RbdPool pool = new RbdPool(io);
      assertThat(pool.mirrorMode()).isEqualTo(PoolMirrorMode.DISABLED);
      pool.create(name, SIZE, RbdCase.with(RbdCase.MAPPED));
      try (RbdImage image = pool.open(name)) {
        assertInvalid(() -> image.mirror().enable(MirrorMode.SNAPSHOT));
        MirrorStatus status = image.mirror().status();
        assertThat(status.info()).isEmpty();
        assertThat(status.local().filter(MirrorSite::up)).isEmpty();
        assertThat(status.remote()).isEmpty();
        assertInvalid(() -> image.mirror().demote());
        assertInvalid(() -> image.mirror().disable(false));
      }
      pool.remove(name, Progress.NONE);
    }
  }
}
