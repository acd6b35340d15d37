package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.testing.CephUsers;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Connections without an answer, which may never have one again. */
class LostConnectionIT {
  private static final Duration TIMEOUT = Duration.ofSeconds(3);

  private static LocalCluster cluster;

  @BeforeAll
  static void start() {
    assertThat(TestCluster.canControl()).as("needs CEPH_TEST_PROVIDER=local").isTrue();
    cluster = TestCluster.start("lost");
  }

  @AfterAll
  static void down() {
    cluster.close();
  }

  private static ClusterConfig config() {
    return new ClusterConfig("c1", List.of(cluster.monitors()), "", "csi", "csi");
  }

  private static long ask(Lease lease) {
    CephCommand.of("mon dump", Map.of()).toMonitors(lease.cluster());
    return lease.cluster().instanceId();
  }

  /** Librados does not look for monitors any more after one has refused the user. */
  @Test
  void oneWhoseUserWasRefusedOnceIsReplaced() {
    Credentials user = new Credentials("refused", cluster.key("admin"));
    CephUsers.make(cluster, user.key(), List.of(user.userId()));
    try (ConnectionPool pool = new ConnectionPool(Duration.ofSeconds(15), TIMEOUT);
        Lease held = pool.lease(config(), user)) {
      long lost = pool.connected(config(), user, LostConnectionIT::ask);
      cluster.ceph("auth", "del", "client." + user.userId());
      cluster.stop("mon.a");
      cluster.restart("mon.a");
      for (int i = 0; i < 3; i++) {
        assertThatThrownBy(() -> ask(held)).isInstanceOf(CephException.TimedOut.class);
      }
      CephUsers.make(cluster, user.key(), List.of(user.userId()));
      assertThatThrownBy(() -> pool.connected(config(), user, LostConnectionIT::ask))
          .isInstanceOf(CephException.TimedOut.class);
      assertThat(pool.connected(config(), user, LostConnectionIT::ask)).isNotEqualTo(lost);
    }
  }

  /** All wait for the same daemon: what they have found together makes one new connection. */
  @Test
  void manyWithoutAnAnswerAtOnceMakeOneNewConnection() {
    Credentials user = new Credentials("admin", cluster.key("admin"));
    try (ConnectionPool pool = new ConnectionPool(Duration.ofSeconds(15), TIMEOUT)) {
      Lease running = pool.lease(config(), user);
      long before = ask(running);
      cluster.pause("osd.0");
      try {
        List<CompletableFuture<Void>> writes =
            Stream.generate(
                    () ->
                        CompletableFuture.runAsync(
                            () -> pool.with(config(), user, LostConnectionIT::write),
                            task -> new Thread(task, "write").start()))
                .limit(16)
                .toList();
        assertThat(writes)
            .allSatisfy(
                write ->
                    assertThatThrownBy(write::join)
                        .isInstanceOf(CompletionException.class)
                        .hasCauseInstanceOf(CephException.TimedOut.class));
      } finally {
        cluster.resume("osd.0");
      }
      assertThat(pool.size()).isZero();
      List<Long> after =
          Stream.generate(() -> pool.connected(config(), user, LostConnectionIT::ask))
              .limit(16)
              .distinct()
              .toList();
      assertThat(after).hasSize(1).doesNotContain(before);
      assertThat(ask(running)).as("what runs on it goes on").isEqualTo(before);
      write(running);
      running.close();
    }
  }

  /** To tell that there is no such pool, librados asks the monitors, without a timeout. */
  @Test
  void aPoolThatIsLookedForKeepsNobodyFromOtherPools() {
    Credentials user = new Credentials("admin", cluster.key("admin"));
    try (ConnectionPool pool = new ConnectionPool(Duration.ofSeconds(15), TIMEOUT);
        Lease lease = pool.lease(config(), user)) {
      write(lease);
      cluster.pause("mon.a");
      CompletableFuture<Void> looking;
      try {
        looking =
            CompletableFuture.runAsync(
                () -> lease.rbdPool("no-such-pool"), task -> new Thread(task, "look").start());
        CompletableFuture<Void> others =
            CompletableFuture.runAsync(
                () -> {
                  for (int i = 0; i < 1000; i++) {
                    openIn(pool, user, "namespace-" + i);
                  }
                },
                task -> new Thread(task, "open").start());
        assertThat(others).succeedsWithin(Duration.ofSeconds(60));
        assertThat(looking).isNotDone();
      } finally {
        cluster.resume("mon.a");
      }
      assertThatThrownBy(looking::join).hasCauseInstanceOf(CephException.NotFound.class);
    }
  }

  private static void openIn(ConnectionPool pool, Credentials user, String namespace) {
    ClusterConfig config =
        new ClusterConfig("c1", List.of(cluster.monitors()), namespace, "csi", "csi");
    try (Lease lease = pool.lease(config, user)) {
      assertThat(lease.rbdPool(cluster.pool()).namespace()).isEqualTo(namespace);
    }
  }

  private static void write(Lease lease) {
    lease.rbdPool(cluster.pool()).writeFull("object", new byte[1]);
  }
}
