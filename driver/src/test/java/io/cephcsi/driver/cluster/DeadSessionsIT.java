package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.RecordedClient.Kind;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.ProcessState;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sessions of a process that was killed, while the metadata server does not answer. */
class DeadSessionsIT {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);
  private static final Duration LIMIT = Duration.ofMinutes(1);
  private static final int SESSIONS = 3;
  private static final int CONNECTIONS = 5;

  private static LocalCluster cluster;

  @TempDir private Path folder;

  @BeforeAll
  static void start() {
    assertThat(TestCluster.canControl()).as("needs CEPH_TEST_PROVIDER=local").isTrue();
    cluster = TestCluster.start("dead-sessions", "--objectstore", "memstore");
  }

  @AfterAll
  static void down() {
    cluster.close();
  }

  private Path leaveSessions() throws IOException {
    Path path = folder.resolve("csi.sock.clients");
    try (RadosCluster user = cluster.connect();
        ClientFile left = ClientFile.open(path).orElseThrow()) {
      left.write(
          Stream.generate(() -> List.of(cluster.fileSystem(), "/", UUID.randomUUID().toString()))
              .limit(SESSIONS)
              .map(names -> RecordedClient.of(user, left.identity(), Kind.SESSION, names))
              .map(client -> client.orElseThrow().line())
              .toList());
    }
    return path;
  }

  private static long client(ConnectionPool pool, Consumer<Lease> work) {
    ClusterConfig config = new ClusterConfig("c1", List.of(cluster.monitors()), "", "csi", "csi");
    try (Lease lease = pool.lease(config, new Credentials("admin", cluster.key("admin")))) {
      work.accept(lease);
      return lease.cluster().instanceId();
    }
  }

  private static void failToMount(Lease lease) {
    assertThatThrownBy(() -> lease.mount(cluster.fileSystem(), "/"))
        .isInstanceOfSatisfying(CephException.TimedOut.class, lease::discardIfUnanswered);
  }

  private static int endingThreads() {
    return ProcessState.threads().getOrDefault("end-dead-client", 0); // cut off by the kernel
  }

  @Test
  void whileItHangsNewConnectionsDoNotBeginToEndThemAgain() throws IOException {
    Path path = leaveSessions();
    try (ClientRecord record = ClientRecord.at(path);
        ConnectionPool pool = new ConnectionPool(TIMEOUT, TIMEOUT, record)) {
      cluster.pause("mds.a");
      try {
        Set<Long> clients = new HashSet<>();
        clients.add(client(pool, DeadSessionsIT::failToMount));
        Awaitility.await().atMost(LIMIT).until(() -> endingThreads() == SESSIONS);
        int threads = ProcessState.cephThreads();
        for (int i = 0; i < CONNECTIONS; i++) {
          clients.add(client(pool, Lease::discard)); // as the failed mount did
        }
        assertThat(clients).hasSize(1 + CONNECTIONS);
        assertThat(endingThreads()).isEqualTo(SESSIONS);
        Awaitility.await()
            .atMost(LIMIT)
            .untilAsserted(
                () -> assertThat(ProcessState.cephThreads()).isLessThanOrEqualTo(threads));
      } finally {
        cluster.resume("mds.a");
      }
      Awaitility.await().atMost(LIMIT).until(() -> !record.hasDead() && endingThreads() == 0);
    }
    assertThat(Files.exists(path)).isFalse();
  }
}
