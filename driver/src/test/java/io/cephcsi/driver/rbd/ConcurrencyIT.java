package io.cephcsi.driver.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Many clients at once; 60 volumes, 1,000 with {@code CEPH_CSI_TEST_CAMPAIGN=full}. */
class ConcurrencyIT {
  private static final long MIB = 1L << 20;
  private static final int CLIENTS = 8;
  private static final int ROUNDS =
      "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN")) ? 1000 / 3 : 60 / 3;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");

  @Test
  void manyClientsGetNoErrorButAbortedAndLeaveNothing() throws Exception {
    Set<String> before = POOL.everything();
    String run = "run-" + UUID.randomUUID();
    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      Volume shared = driver.create(run + "-shared", 16 * MIB);
      ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
      List<Future<?>> rounds = new ArrayList<>();
      for (int i = 0; i < ROUNDS; i++) {
        String name = run + "-" + i;
        rounds.add(clients.submit(() -> round(driver, name, shared)));
      }
      for (Future<?> round : rounds) {
        round.get();
      }
      clients.shutdown();
      driver.delete(shared.getVolumeId());
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(() -> assertThat(POOL.left(before)).isEmpty());
      assertThat(POOL.keys("csi.volumes.default")).noneMatch(key -> key.contains(run));
      assertThat(POOL.keys("csi.snaps.default")).noneMatch(key -> key.contains(run));
    }
  }

  /** Three volumes and two snapshots: of one's own volume, and of one that all clients share. */
  private static void round(TestDriver driver, String name, Volume shared) {
    Volume own = retried(() -> driver.create(name, 16 * MIB));
    Snapshot snapshot = retried(() -> driver.snapshot(name, own.getVolumeId()));
    Snapshot ofShared = retried(() -> driver.snapshot(name + "-s", shared.getVolumeId()));
    Volume restored = retried(() -> driver.restore(name + "-r", 0, snapshot.getSnapshotId()));
    Volume copied = retried(() -> driver.copy(name + "-c", 0, own.getVolumeId()));
    deleted(() -> driver.deleteSnapshot(snapshot.getSnapshotId()));
    deleted(() -> driver.delete(own.getVolumeId()));
    deleted(() -> driver.delete(copied.getVolumeId()));
    deleted(() -> driver.deleteSnapshot(ofShared.getSnapshotId()));
    deleted(() -> driver.delete(restored.getVolumeId()));
  }

  private static void deleted(Runnable call) {
    retried(
        () -> {
          call.run();
          return true;
        });
  }

  private static <T> T retried(Callable<T> call) {
    return Awaitility.await()
        .atMost(Duration.ofMinutes(2))
        .ignoreExceptionsMatching(
            e ->
                e instanceof StatusRuntimeException status
                    && status.getStatus().getCode() == Code.ABORTED)
        .until(call, result -> true);
  }
}
