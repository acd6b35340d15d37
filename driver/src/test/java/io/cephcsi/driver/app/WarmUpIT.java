package io.cephcsi.driver.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.testing.DriverSeat;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** What a controller does by itself after its start. */
@EnabledIf("io.cephcsi.testing.TestCluster#canControl")
class WarmUpIT {
  private static final long BYTES = 16L << 20;

  private static LocalCluster cluster;

  /** Of its own: what other tests have removed in the background changes a pool as well. */
  @BeforeAll
  static void startCluster() throws IOException {
    cluster = TestCluster.start("warm-up");
  }

  @AfterAll
  static void stopCluster() {
    cluster.close();
  }

  @Test
  void nothingInThePoolChanges() {
    PoolState pool = new PoolState(cluster, cluster.pool());
    check(DriverConfig.Type.RBD, cluster.rbdUser(), pool::everything, () -> {});
  }

  /** As by a process that was killed in the moment in which it had the name. */
  @Test
  void theNameThatAnotherStartLeftIsTakenBack() {
    check(
        DriverConfig.Type.RBD,
        cluster.rbdUser(),
        WarmUpIT::namesAndPool,
        () -> {
          try (RadosCluster connection = cluster.connect();
              IoContext io = connection.openPool(cluster.pool())) {
            JournalEntry left =
                new Journal(JournalKind.VOLUME, "default", io, io)
                    .begin(WarmUp.NAME, uuid -> "csi-vol-" + uuid, Map.of())
                    .entry();
            assertThat(namesAndPool())
                .contains("csi.volume." + left.uuid(), "csi.volume." + WarmUp.NAME);
          }
        });
  }

  private static Set<String> namesAndPool() {
    PoolState pool = new PoolState(cluster, cluster.pool());
    Set<String> all = new TreeSet<>(pool.everything());
    all.addAll(pool.keys("csi.volumes.default"));
    return all;
  }

  @Test
  void nothingInTheFileSystemChanges() {
    SubvolumeState files = new SubvolumeState(cluster);
    check(DriverConfig.Type.CEPHFS, cluster.cephFsUser(), files::leftovers, () -> {});
  }

  /**
   * What there is before a process starts and prepares itself is there afterwards.
   *
   * @param left what another process left meanwhile
   */
  private static void check(
      DriverConfig.Type type, String user, Supplier<Set<String>> state, Runnable left) {
    try (TestDriver maker =
            (type == DriverConfig.Type.RBD ? TestDriver.rbd(cluster) : TestDriver.cephFs(cluster))
                .start();
        DriverSeat seat = new DriverSeat(type, cluster, user, List.of())) {
      String volume = maker.create("warm-up", BYTES).getVolumeId();
      Set<String> before = state.get();
      left.run();
      try (ServedProcess process = seat.start()) {
        Awaitility.await()
            .atMost(Duration.ofMinutes(2))
            .until(() -> process.output().contains("prepared for calls on cluster"));
        assertThat(state.get()).isNotEmpty().isEqualTo(before);
        assertThat(process.output().lines())
            .noneMatch(line -> line.matches(".* (WARN|ERROR|requests) .*"));
      }
      maker.delete(volume);
      if (type == DriverConfig.Type.RBD) { // else the next test may see it go
        PoolState pool = new PoolState(cluster, cluster.pool());
        Awaitility.await()
            .atMost(PoolState.MANAGER_TIME)
            .until(() -> pool.images().isEmpty() && pool.trash().isEmpty());
      }
    }
  }
}
