package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What late commands made is looked for while the metadata server does not answer. */
class HungMetadataServerIT {
  private static final String DELETED = "csi.java.deleted.default";
  private static final Duration TIMEOUT = Duration.ofSeconds(2);
  private static final Duration SOON = Duration.ofMillis(100);
  private static final Duration LIMIT = Duration.ofMinutes(1);

  private static LocalCluster cluster;

  @BeforeAll
  static void start() {
    assertThat(TestCluster.canControl()).as("needs CEPH_TEST_PROVIDER=local").isTrue();
    cluster = TestCluster.start("hung-mds", "--objectstore", "memstore");
  }

  @AfterAll
  static void down() {
    cluster.close();
  }

  private static long client(ConnectionPool pool, ClusterConfig config, Credentials user) {
    return pool.connected(config, user, lease -> lease.cluster().instanceId());
  }

  @Test
  void looksThatItDoesNotAnswerEndAfterTheirTime() {
    ClusterConfig config =
        new ClusterConfig(TestDriver.CLUSTER_ID, List.of(cluster.monitors()), "", "csi", "csi");
    SubvolumeState state = new SubvolumeState(cluster);
    LateCommands.Times times =
        new LateCommands.Times(SOON, SOON, Duration.ZERO, Duration.ofMillis(1));
    try (TestDriver driver = TestDriver.cephFs(cluster).start();
        ConnectionPool pool = new ConnectionPool(TIMEOUT, TIMEOUT);
        SnapshotPaths paths = new SnapshotPaths();
        LateCommands late = new LateCommands(pool, "default", paths, times)) {
      driver.delete(driver.create("pvc-" + UUID.randomUUID(), 1 << 20).getVolumeId());
      assertThat(state.omap(DELETED)).hasSize(1);
      Credentials user = Credentials.fromSecrets(driver.secrets());
      cluster.pause("mds.a");
      try (Lease lease = pool.lease(config, user)) {
        late.lookLater(config, user, lease.cluster().fsid());
        Awaitility.await("the look has failed")
            .atMost(LIMIT)
            .ignoreExceptionsInstanceOf(CephException.class)
            .until(() -> client(pool, config, user) != lease.cluster().instanceId());
      } finally {
        cluster.resume("mds.a");
      }
      Awaitility.await("nobody looks again")
          .during(TIMEOUT.multipliedBy(4))
          .atMost(LIMIT)
          .until(() -> state.omap(DELETED).size() == 1);
      Awaitility.await("the next call has it looked at")
          .atMost(LIMIT)
          .pollInterval(TIMEOUT)
          .ignoreExceptionsInstanceOf(CephException.class)
          .until(
              () -> {
                String fsid = pool.connected(config, user, lease -> lease.cluster().fsid());
                late.lookLater(config, user, fsid);
                return state.omap(DELETED).isEmpty();
              });
    }
  }
}
