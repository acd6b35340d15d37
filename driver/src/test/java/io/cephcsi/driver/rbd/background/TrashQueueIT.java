package io.cephcsi.driver.rbd.background;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.testing.TestCluster;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrashQueueIT {
  private static final TestCluster CLUSTER = TestCluster.shared();

  @Test
  void whatWaitsHasNoSecretsButThoseOfItsUser(@TempDir Path folder) throws Exception {
    ClusterDirectory clusters = new ClusterDirectory(TestDriver.clustersFile(CLUSTER, folder));
    Credentials user = new Credentials("a-user", "AQ==", Map.of("encryptionPassphrase", "secret"));
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool(CLUSTER.pool())) {
      TrashQueue.PoolUser kept =
          TrashQueue.PoolUser.of(clusters.require(TestDriver.CLUSTER_ID), user, io);
      assertThat(kept.credentials()).isEqualTo(user);
      assertThat(kept.credentials().others()).isEmpty();
    }
  }
}
