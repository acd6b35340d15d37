package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.testing.TestCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DriverConnectionsIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @TempDir private Path folder;

  @Test
  void aClusterThatCannotBeConnectedKeepsNoOtherFromThat() throws Exception {
    ClusterDirectory clusters = new ClusterDirectory(TestDriver.clustersFile(CLUSTER, folder));
    Path credentials = TestDriver.credentialsFolder(CLUSTER, folder, CLUSTER.rbdUser());
    Files.writeString(credentials.resolve(TestDriver.IN_NAMESPACE).resolve("userID"), "nobody");
    try (ConnectionPool connections = new ConnectionPool(PATIENCE, PATIENCE)) {
      DriverConnections own =
          new DriverConnections(
              Storage.RBD, clusters, new CredentialsDirectory(credentials), connections);
      assertThat(own.clusters())
          .extracting(ClusterConfig::clusterId)
          .containsExactly(TestDriver.IN_NAMESPACE, TestDriver.CLUSTER_ID);
      own.connectSoon();
      Awaitility.await() // the one that is refused is one, too, for a moment
          .during(Duration.ofSeconds(5))
          .atMost(PATIENCE)
          .until(() -> connections.size() == 1);
    }
  }
}
