package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.MirroredClusters;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * A planned failover while the daemon of the old site is dead, which does not notice the promotion
 * of the other one: what is written there is on one site only, though both were demoted in turn.
 * librbd promotes the old image at any time.
 */
@EnabledIf("io.cephcsi.testing.TestCluster#canControl")
class UnnoticedPromotionIT {
  private static final long SIZE = 16L << 20;
  private static final Duration LONGEST = Duration.ofMinutes(4);

  private static void soon(Callable<Boolean> condition) {
    await()
        .atMost(LONGEST)
        .pollInterval(Duration.ofMillis(500))
        .ignoreExceptionsInstanceOf(CephException.NotFound.class)
        .until(condition);
  }

  private static Code code(Runnable call) {
    try {
      call.run();
      return Code.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus().getCode();
    }
  }

  /** Repeats a call until it succeeds; what it failed with before. */
  private static Set<Code> repeat(Runnable call) {
    Set<Code> codes = EnumSet.noneOf(Code.class);
    soon(
        () -> {
          Code code = code(call);
          if (code != Code.OK) {
            codes.add(code);
          }
          return code == Code.OK;
        });
    return codes;
  }

  private static <T> T with(TestCluster ceph, Function<RbdPool, T> work) {
    try (RadosCluster cluster = ceph.connect();
        IoContext io = cluster.openPool(ceph.pool())) {
      return work.apply(new RbdPool(io));
    }
  }

  private static boolean write(TestCluster ceph, String image, int value) {
    return with(
        ceph,
        pool -> {
          try (RbdImage open = pool.open(image)) {
            open.write(0, new byte[] {(byte) value});
            open.flush();
            return true;
          }
        });
  }

  private static <T> T look(TestCluster ceph, String image, Function<RbdImage, T> look) {
    return with(
        ceph,
        pool -> {
          try (RbdImage open = pool.openReadOnly(image)) {
            return look.apply(open);
          }
        });
  }

  private static int read(TestCluster ceph, String image) {
    return look(ceph, image, open -> (int) open.read(0, 1)[0]);
  }

  private static boolean isPrimary(TestCluster ceph, String image) {
    return look(ceph, image, open -> open.mirroring().orElseThrow().primary());
  }

  private static MirrorStatus status(TestCluster ceph, String image) {
    return look(ceph, image, open -> open.mirror().status());
  }

  private static boolean replays(TestCluster ceph, String image) {
    return status(ceph, image)
        .local()
        .filter(site -> site.isUp(MirrorSite.State.REPLAYING))
        .isPresent();
  }

  @Test
  void theOldSiteIsNotPromotedBeforeItHasWhatTheNewOneWrote() {
    try (MirroredClusters clusters = MirroredClusters.start("unnoticed")) {
      LocalCluster first = clusters.first();
      LocalCluster second = clusters.second();
      try (TestDriver there = TestDriver.rbd(first).start();
          TestDriver here = TestDriver.rbd(second).start()) {
        TestReplication theirs = TestReplication.of(there);
        TestReplication ours = TestReplication.of(here);
        Volume volume = there.create("volume-" + UUID.randomUUID(), SIZE);
        String id = volume.getVolumeId();
        String image = TestDriver.image(volume);
        write(first, image, 1);
        theirs.enable(id, Map.of());
        soon(() -> replays(second, image) && read(second, image) == 1);

        first.kill(LocalCluster.MIRROR_DAEMON);
        assertThat(repeat(() -> theirs.demote(id, false))) // it is told there later
            .isSubsetOf(Code.FAILED_PRECONDITION);
        assertThat(repeat(() -> ours.promote(id, false))).isSubsetOf(Code.ABORTED);
        write(second, image, 2);
        soon(
            () ->
                status(first, image).remote().stream()
                    .anyMatch(site -> site.isUp(MirrorSite.State.STOPPED)));
        try (TestDriver other = TestDriver.rbd(first).start()) { // the 90 s of ours begin later
          assertStatus(
              Code.ABORTED, "has the primary", () -> TestReplication.of(other).promote(id, false));
        }
        assertThat(isPrimary(first, image)).isFalse();
        assertStatus(Code.FAILED_PRECONDITION, "has followed", () -> ours.demote(id, false));
        assertThat(isPrimary(second, image)).isTrue();

        clusters.join();
        soon(() -> replays(first, image));
        assertThat(repeat(() -> ours.demote(id, false))).isSubsetOf(Code.FAILED_PRECONDITION);
        assertThat(repeat(() -> theirs.promote(id, false))).isSubsetOf(Code.ABORTED);
        assertThat(read(first, image)).isEqualTo(2);
      }
    }
  }
}
