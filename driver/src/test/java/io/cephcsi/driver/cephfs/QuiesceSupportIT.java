package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.CredentialsDirectory;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class QuiesceSupportIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  @TempDir private Path folder;

  /** A Secret may be mounted later: until then nobody can say what the clusters can. */
  @Test
  void clustersAreAskedAsSoonAsThereAreCredentials() throws Exception {
    ClusterDirectory clusters = new ClusterDirectory(TestDriver.clustersFile(CLUSTER, folder));
    CredentialsDirectory credentials = new CredentialsDirectory(folder.resolve("credentials"));
    try (ConnectionPool connections = new ConnectionPool(TIMEOUT, TIMEOUT)) {
      DriverConnections own =
          new DriverConnections(Storage.CEPHFS, clusters, credentials, connections);
      try (QuiesceSupport support = QuiesceSupport.start(own)) {
        assertThat(support.advertised().get()).isFalse();
        assertThat(connections.size()).isZero();
        TestDriver.credentialsFolder(CLUSTER, folder, CLUSTER.cephFsUser());
        Awaitility.await("a cluster is asked").atMost(TIMEOUT).until(() -> connections.size() > 0);
        boolean can = own.connected(own.clusters().get(0), QuiesceSupport::canQuiesce);
        Awaitility.await()
            .atMost(TIMEOUT)
            .untilAsserted(() -> assertThat(support.advertised().get()).isEqualTo(can));
      }
    }
  }
}
