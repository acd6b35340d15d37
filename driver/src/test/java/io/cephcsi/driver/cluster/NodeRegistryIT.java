package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NodeRegistryIT {
  private static final TestCluster CLUSTER = TestCluster.shared();

  @TempDir private Path folder;

  /** Else a CO would take the calls that publish volumes for such that the driver does not have. */
  @Test
  void thatNoNodeHasRegisteredIsSaidOnlyWhenAllClustersAnswered() throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("config.json"),
            """
            [{"clusterID": "a-silent", "monitors": ["127.0.0.1:1"]},
             {"clusterID": "b", "monitors": ["%s"]}]
            """
                .formatted(CLUSTER.monitors()));
    ClusterDirectory clusters = new ClusterDirectory(file);
    String instance = "registry-" + UUID.randomUUID();
    try (ConnectionPool pool = new ConnectionPool(Duration.ofSeconds(5), Duration.ofSeconds(30))) {
      NodeRegistry registry = registry(clusters, pool, instance);
      assertThatThrownBy(() -> registry.anyRegistered("b"))
          .isInstanceOfSatisfying(
              VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE))
          .hasMessageContaining("a-silent");
      registry.register(new OwnNode("node-1", 0));
    }
    try (ConnectionPool pool = new ConnectionPool(Duration.ofSeconds(5), Duration.ofSeconds(30))) {
      NodeRegistry registry = registry(clusters, pool, instance);
      assertThat(registry.anyRegistered("b")).isTrue();
      assertThat(pool.size()).as("the silent one is not asked").isEqualTo(1);
    }
  }

  private static NodeRegistry registry(
      ClusterDirectory clusters, ConnectionPool pool, String instance) {
    Credentials user = new Credentials("admin", CLUSTER.key("admin"));
    return new NodeRegistry(
        DriverConnections.byCaller(Storage.RBD, clusters, user, pool), instance, Optional.empty());
  }
}
