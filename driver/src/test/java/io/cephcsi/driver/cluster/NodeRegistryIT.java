package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.testing.Logged;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import org.awaitility.Awaitility;
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

  /** Else the pools behind it would have no node, and no volume of theirs could be published. */
  @Test
  void aPoolThatIsFullKeepsNodesOutOfNoOther() throws IOException {
    String full = "registry-full-" + UUID.randomUUID();
    String next = "registry-next-" + UUID.randomUUID();
    makePool(full);
    makePool(next);
    String instance = "registry-" + UUID.randomUUID();
    ClusterDirectory clusters = new ClusterDirectory(TestDriver.clustersFile(CLUSTER, folder));
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext fullIo = cluster.openPool(full);
        IoContext nextIo = cluster.openPool(next);
        ConnectionPool pool = new ConnectionPool(Duration.ofSeconds(5), Duration.ofSeconds(30));
        Logged log = Logged.by(NodeRegistry.class)) {
      assertThat(fullIo.poolId()).isLessThan(nextIo.poolId());
      fullIo.writeFull("data", new byte[1 << 20]);
      CLUSTER.ceph("osd", "pool", "set-quota", full, "max_bytes", "1000");
      Awaitility.await()
          .atMost(Duration.ofMinutes(1))
          .until(
              () ->
                  MonitorQueries.pools(cluster).stream()
                      .anyMatch(one -> one.name().equals(full) && one.full()));
      registry(clusters, pool, instance).register(new OwnNode("node-1", 0));
      assertThat(NodeRegistry.lastSeen(nextIo, instance)).containsOnlyKeys("node-1");
      assertThat(log.lines())
          .anyMatch(
              line ->
                  line.startsWith(
                      "WARN node node-1 is not registered in pool " + fullIo.poolId() + ": "));
    } finally {
      removePool(full);
      removePool(next);
    }
  }

  private static void makePool(String pool) {
    CLUSTER.ceph("osd", "pool", "create", pool, "1");
    CLUSTER.rbd("pool", "init", pool);
  }

  private static void removePool(String pool) {
    CLUSTER.ceph("osd", "pool", "rm", pool, pool, "--yes-i-really-really-mean-it");
  }

  private static NodeRegistry registry(
      ClusterDirectory clusters, ConnectionPool pool, String instance) {
    Credentials user = new Credentials("admin", CLUSTER.key("admin"));
    return new NodeRegistry(
        DriverConnections.byCaller(Storage.RBD, clusters, user, pool), instance, Optional.empty());
  }
}
