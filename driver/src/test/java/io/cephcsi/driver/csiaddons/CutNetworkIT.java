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

  private static boolean promoted(TestReplication replication, String id, boolean force) {
    replication.promote(id, force);
    return true;
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

        Volume other = there.create("volume-" + UUID.randomUUID(), SIZE);
        String lost = other.getVolumeId();
        String lostImage = TestDriver.image(other);
        theirs.enable(lost, Map.of());
        soon(() -> replays(second, lostImage));

        network.cut();
        write(first, image, 2);
        takeMirrorSnapshot(first, image);
        soon(() -> isAlone(first, image) && isAlone(second, image));
        assertThat(theirs.info(id).getStatus()).isEqualTo(Status.DEGRADED);
        assertThat(status(first, image).local().filter(MirrorSite::up)).isPresent();
        assertThat(status(second, image).local().filter(MirrorSite::up)).isPresent();
        soon(() -> isAlone(second, lostImage));
        System.out.println("the daemon of a copy without a primary: " + status(second, lostImage));
        assertStatus(Code.FAILED_PRECONDITION, "end its replication", () -> here.delete(lost));
        repeat(
            () -> {
              ours.disable(lost, true);
              return status(second, lostImage).info().isEmpty();
            });
        write(second, lostImage, 4);
        theirs.disable(lost, true);
        // The daemon here runs, and might be copying what was written before a demotion.
        assertStatus(Code.ABORTED, "does not run", () -> ours.promote(id, false));
        soon(() -> code(() -> promoted(ours, id, false)) == Code.FAILED_PRECONDITION);
        long begun = System.nanoTime();
        Map<Code, Integer> codes = repeat(() -> promoted(ours, id, true));
        System.out.printf(
            "forced promotion: %d s, %s%n", (System.nanoTime() - begun) / 1_000_000_000, codes);
        assertThat(codes.keySet()).isSubsetOf(Code.ABORTED, Code.DEADLINE_EXCEEDED);
        assertThat(read(second, image)).isEqualTo(1);
        write(second, image, 3);
        assertStatus(Code.FAILED_PRECONDITION, "has followed", () -> theirs.demote(id, false));
        theirs.demote(id, true);
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
