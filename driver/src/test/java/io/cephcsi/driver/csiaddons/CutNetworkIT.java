package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.MirrorNetwork;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.proto.addons.replication.GetVolumeReplicationInfoResponse.Status;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * A network that is cut between two sites: both have their clusters, their drivers and their
 * daemons, which all run.
 */
@EnabledIf("io.cephcsi.testing.TestCluster#canControl")
class CutNetworkIT {
  private static final long SIZE = 16L << 20;
  private static final Duration LONGEST = Duration.ofMinutes(4);

  private static void soon(Callable<Boolean> condition) {
    await()
        .atMost(LONGEST)
        .pollInterval(Duration.ofMillis(500))
        .ignoreExceptionsInstanceOf(CephException.NotFound.class)
        .until(condition);
  }

  /** Repeats a call until it succeeds; how often it failed with what before. */
  private static Map<Code, Integer> repeat(Callable<Boolean> call) {
    Map<Code, Integer> codes = new TreeMap<>();
    soon(
        () -> {
          try {
            return call.call();
          } catch (StatusRuntimeException e) {
            codes.merge(e.getStatus().getCode(), 1, Integer::sum);
            return false;
          }
        });
    return codes;
  }

  private static void takeMirrorSnapshot(TestCluster ceph, String image) {
    try (RadosCluster cluster = ceph.connect();
        IoContext io = cluster.openPool(ceph.pool());
        RbdImage open = new RbdPool(io).open(image)) {
      assertThat(open.mirror().createSnapshot()).isPositive();
    }
  }

  private static Code code(Callable<Boolean> call) {
    try {
      return call.call() ? Code.OK : Code.UNKNOWN;
    } catch (StatusRuntimeException e) {
      return e.getStatus().getCode();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static int read(TestCluster ceph, String image) {
    try (RadosCluster cluster = ceph.connect();
        IoContext io = cluster.openPool(ceph.pool());
        RbdImage open = new RbdPool(io).openReadOnly(image)) {
      return open.read(0, 1)[0];
    }
  }

  private static MirrorStatus status(TestCluster ceph, String image) {
    try (RadosCluster cluster = ceph.connect();
        IoContext io = cluster.openPool(ceph.pool());
        RbdImage open = new RbdPool(io).openReadOnly(image)) {
      return open.mirror().status();
    }
  }

  private static void write(TestCluster ceph, String image, int value) {
    try (RadosCluster cluster = ceph.connect();
        IoContext io = cluster.openPool(ceph.pool());
        RbdImage open = new RbdPool(io).open(image)) {
      open.write(0, new byte[] {(byte) value});
      open.flush();
    }
  }

  private static boolean replays(TestCluster ceph, String image) {
    return status(ceph, image)
        .local()
        .filter(site -> site.isUp(MirrorSite.State.REPLAYING))
        .isPresent();
  }

  private static boolean isAlone(TestCluster ceph, String image) {
    return status(ceph, image).remote().stream().noneMatch(MirrorSite::up);
  }

  @Test
  void eachSiteGoesOnAloneAndTheOldOneGivesUpWhatOnlyItHas() {
    try (MirrorNetwork network = MirrorNetwork.start("net")) {
      assumeThat(network.isPossible()).isTrue();
      TestCluster first = network.clusters().first();
      TestCluster second = network.clusters().second();
      try (TestDriver there = TestDriver.rbd(first).start();
          TestDriver here = TestDriver.rbd(second).start()) {
        TestReplication theirs = TestReplication.of(there);
        TestReplication ours = TestReplication.of(here);
        Volume volume = there.create("volume-" + UUID.randomUUID(), SIZE);
        String id = volume.getVolumeId();
        String image = TestDriver.image(volume);
        write(first, image, 1);
        theirs.enable(id, Map.of());
        soon(() -> replays(second, image));
        soon(() -> read(second, image) == 1);
        takeMirrorSnapshot(first, image);
        repeat(() -> theirs.info(id).hasLastSyncTime());

        network.cut();
        write(first, image, 2);
        takeMirrorSnapshot(first, image);
        soon(() -> isAlone(first, image) && isAlone(second, image));
        assertThat(theirs.info(id).getStatus()).isEqualTo(Status.DEGRADED);
        assertThat(status(first, image).local().filter(MirrorSite::up)).isPresent();
        assertThat(status(second, image).local().filter(MirrorSite::up)).isPresent();
        assertStatus(Code.FAILED_PRECONDITION, () -> ours.promote(id, false));
        long begun = System.nanoTime();
        Map<Code, Integer> codes =
            repeat(
                () -> {
                  ours.promote(id, true);
                  return true;
                });
        System.out.printf(
            "forced promotion: %d s, %s%n", (System.nanoTime() - begun) / 1_000_000_000, codes);
        assertThat(codes.keySet()).isSubsetOf(Code.ABORTED, Code.DEADLINE_EXCEEDED);
        assertThat(read(second, image)).isEqualTo(1);
        write(second, image, 3);
        theirs.demote(id, false);
        for (int call = 0; call < 10; call++) { // nothing is thrown away
          assertThat(code(() -> theirs.resync(id, true))).isIn(Code.UNAVAILABLE, Code.ABORTED);
        }
        assertThat(read(first, image)).isEqualTo(2);

        network.join();
        repeat(() -> !theirs.resync(id, true));
        takeMirrorSnapshot(second, image);
        soon(() -> read(first, image) == 3);
        soon(() -> replays(first, image) && !isAlone(second, image));
        repeat(() -> ours.info(id).getStatus() == Status.HEALTHY);
      }
    }
  }
}
