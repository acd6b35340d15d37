package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.Watch;
import io.cephcsi.driver.testing.CephUsers;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;

class ConnectionPoolIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final Duration TIMEOUT = Duration.ofSeconds(15);
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final String WRONG_KEY = "AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg==";

  private final ConnectionPool pool = new ConnectionPool(TIMEOUT, TIMEOUT);

  @AfterEach
  void close() {
    pool.close();
  }

  private static ClusterConfig config() {
    return config("c1", "");
  }

  private static ClusterConfig config(String clusterId, String namespace) {
    return new ClusterConfig(clusterId, List.of(CLUSTER.monitors()), namespace, "csi", "csi");
  }

  private static Credentials admin() {
    return new Credentials("admin", CLUSTER.key("admin"));
  }

  private static Credentials rbdUser() {
    return new Credentials(CLUSTER.rbdUser(), CLUSTER.key(CLUSTER.rbdUser()));
  }

  @Test
  void thirtyTwoWhoComeAtOnceShareOneConnect() throws Exception {
    int threads = 32;
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    CyclicBarrier barrier = new CyclicBarrier(threads);
    try {
      List<Callable<Lease>> calls = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        calls.add(
            () -> {
              barrier.await(60, TimeUnit.SECONDS);
              return pool.lease(config(), admin());
            });
      }
      List<Lease> leases = new ArrayList<>();
      for (Future<Lease> call : executor.invokeAll(calls)) {
        leases.add(call.get());
      }
      assertThat(leases.stream().map(lease -> lease.cluster().instanceId()).distinct()).hasSize(1);
      assertThat(leases.stream().map(Lease::cluster).distinct()).hasSize(1);
      assertThat(pool.size()).isEqualTo(1);
      leases.forEach(Lease::close);
    } finally {
      executor.shutdownNow();
    }
    try (Lease again = pool.lease(config(), admin())) {
      assertThat(again.cluster().fsid()).isNotBlank();
      assertThat(pool.size()).isEqualTo(1);
    }
  }

  @Test
  void aConnectionAndItsPoolsAreSharedByNamespacesOfOneCluster() {
    try (Lease one = pool.lease(config("c1", ""), admin());
        Lease other = pool.lease(config("c2", "ns"), admin())) {
      assertThat(one.cluster()).isSameAs(other.cluster());
      assertThat(one.rbdPool(CLUSTER.pool())).isSameAs(one.rbdPool(CLUSTER.pool()));
      assertThat(one.rbdPool(CLUSTER.pool()).namespace()).isEmpty();
      assertThat(other.rbdPool(CLUSTER.pool()).namespace()).isEqualTo("ns");
      long id = one.rbdPool(CLUSTER.pool()).poolId();
      assertThat(one.rbdPool(id)).isSameAs(one.rbdPool(CLUSTER.pool()));
      assertThatThrownBy(() -> one.rbdPool("no-such-pool"))
          .isInstanceOf(CephException.NotFound.class);
      assertThatThrownBy(() -> one.rbdPool(4711)).isInstanceOf(CephException.NotFound.class);
      assertThatThrownBy(() -> one.rbdPool(-1)).isInstanceOf(CephException.NotFound.class);
    }
  }

  @Test
  void aDiscardedConnectionIsClosedWithTheLastOfItsLeases() {
    Lease first = pool.lease(config(), admin());
    RadosCluster connection = first.cluster();
    Lease second = first.share();
    first.discard();
    first.close();
    assertThatThrownBy(first::share).isInstanceOf(IllegalStateException.class);
    assertThat(second.cluster().fsid()).isNotBlank();
    Lease third = second.share(); // of a connection that nobody else gets any more
    second.close();
    assertThat(connection.fsid()).isNotBlank();
    third.close();
    awaitClosed(connection);
  }

  @Test
  void anIdleConnectionIsClosedAndOneInUseIsNot() {
    try (ConnectionPool shortLived = new ConnectionPool(TIMEOUT, TIMEOUT, Duration.ofMillis(200))) {
      Lease used = shortLived.lease(config(), admin());
      RadosCluster connection = used.cluster();
      Awaitility.await().until(() -> shortLived.size() == 0);
      assertThat(connection.fsid()).as("leased: stays open").isNotBlank();
      used.close();
      used.close();
      awaitClosed(connection);

      RadosCluster idle;
      try (Lease lease = shortLived.lease(config(), admin())) {
        idle = lease.cluster();
        assertThat(idle).isNotSameAs(connection);
      }
      awaitClosed(idle);
    }
  }

  @Test
  void aConnectionWithACallThatHangsHoldsUpTheCloseOfNoOther() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch answer = new CountDownLatch(1);
    String object = "hangs-" + UUID.randomUUID();
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try (ConnectionPool shortLived = new ConnectionPool(TIMEOUT, TIMEOUT, Duration.ofMillis(200));
        RadosCluster other = CLUSTER.connect();
        IoContext io = other.openPool(CLUSTER.pool())) {
      io.writeFull(object, new byte[0]);
      try (Watch watch = io.watch(object, 0, payload -> answerAfter(asked, answer))) {
        try {
          Future<Integer> call;
          try (Lease lease = shortLived.lease(config(), admin())) {
            IoContext pool = lease.rbdPool(CLUSTER.pool());
            call = executor.submit(() -> pool.notifyWatchers(object, new byte[0], 300_000));
            assertThat(asked.await(60, TimeUnit.SECONDS)).isTrue();
          }
          Awaitility.await().atMost(PATIENCE).until(() -> shortLived.size() == 0);
          RadosCluster idle;
          try (Lease lease = shortLived.lease(config(), rbdUser())) {
            idle = lease.cluster();
          }
          awaitClosed(idle);
          assertThat(call).isNotDone();
          watch.verify();
          answer.countDown();
          assertThat(call.get(60, TimeUnit.SECONDS)).isEqualTo(1);
        } finally {
          answer.countDown();
        }
      }
      io.remove(object);
    } finally {
      executor.shutdownNow();
    }
  }

  private static void answerAfter(CountDownLatch asked, CountDownLatch answer) {
    asked.countDown();
    try {
      answer.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void awaitClosed(RadosCluster connection) {
    Awaitility.await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> assertThatThrownBy(connection::fsid).isInstanceOf(IllegalStateException.class));
  }

  @Test
  void aConnectionIsClosedOnceHoweverManyRetireIt() {
    Logger logger = (Logger) LoggerFactory.getLogger(ConnectionPool.class.getPackageName());
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    logger.addAppender(log);
    try {
      for (int i = 0; i < 30; i++) {
        ConnectionPool closing = new ConnectionPool(TIMEOUT, TIMEOUT);
        RadosCluster connection;
        try (Lease lease = closing.lease(config(), admin())) {
          connection = lease.cluster();
          assertThat(lease.rbdPool(CLUSTER.pool()).poolId()).isPositive();
        }
        closing.close();
        awaitClosed(connection);
      }
    } finally {
      logger.detachAppender(log);
    }
    assertThat(log.list).isEmpty();
  }

  @Test
  void aPoolThatIsClosedConnectsNoMore() {
    pool.lease(config(), admin()).close();
    pool.close();
    assertThatThrownBy(() -> pool.lease(config(), admin()).close())
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE))
        .hasMessageContaining("stopping");
    assertThat(pool.size()).isZero();
  }

  @Test
  void aBlocklistedConnectionIsReplacedAfterDiscard() {
    try (Lease lease = pool.lease(config(), admin());
        RadosCluster other = CLUSTER.connect()) {
      long blocked = lease.cluster().instanceId();
      IoContext io = lease.rbdPool(CLUSTER.pool());
      other.blocklist(lease.cluster().addresses(), Duration.ofMinutes(5));
      lease.cluster().awaitLatestOsdMap();
      assertThatThrownBy(() -> io.writeFull("blocked-" + UUID.randomUUID(), new byte[1]))
          .isInstanceOf(CephException.Blocklisted.class);
      lease.discard();
      lease.discard();
      try (Lease next = pool.lease(config(), admin())) {
        assertThat(next.cluster().instanceId()).isNotEqualTo(blocked);
        String object = "not-blocked-" + UUID.randomUUID();
        next.rbdPool(CLUSTER.pool()).writeFull(object, new byte[1]);
        next.rbdPool(CLUSTER.pool()).remove(object);
        assertThat(pool.size()).isEqualTo(1);
      }
      assertThat(lease.cluster().instanceId()).as("open until its lease ends").isEqualTo(blocked);
    }
  }

  @Test
  void wrongCredentialsAreUnauthenticatedAndHarmNobody() {
    try (Lease right = pool.lease(config(), admin())) {
      for (Credentials wrong :
          List.of(
              new Credentials("admin", WRONG_KEY),
              new Credentials("admin", "no key at all"),
              new Credentials("admin", "QQ=="),
              new Credentials("nobody-" + UUID.randomUUID(), WRONG_KEY))) {
        VolumeException failure =
            catchThrowableOfType(VolumeException.class, () -> pool.lease(config(), wrong).close());
        assertThat(failure.reason()).isEqualTo(Reason.UNAUTHENTICATED);
        assertThat(failure)
            .hasMessageContaining("client." + wrong.userId())
            .hasMessageContaining("c1")
            .hasMessageNotContaining(wrong.key());
      }
      assertThat(right.cluster().fsid()).isNotBlank();
      assertThat(pool.size()).isEqualTo(1);
    }
  }

  /** Librados that can read it is denied by the cluster, as the key is not that of the user. */
  @Test
  void aKeyOfATypeThatLibradosCannotReadIsCalledSo() {
    ByteBuffer key = ByteBuffer.allocate(44).order(ByteOrder.LITTLE_ENDIAN);
    key.putShort((short) 2).putLong(0).putShort((short) 32);
    Credentials newer = new Credentials("admin", Base64.getEncoder().encodeToString(key.array()));
    VolumeException failure =
        catchThrowableOfType(VolumeException.class, () -> pool.lease(config(), newer).close());
    assertThat(failure.reason()).isEqualTo(Reason.UNAUTHENTICATED);
    assertThat(failure).hasMessageNotContaining(newer.key());
    assertThat(failure.getMessage().contains("aes256k"))
        .as(failure.getMessage())
        .isEqualTo(!failure.getMessage().contains("EACCES"));
  }

  @Test
  void credentialsThatBecomeRightWorkAtOnce() {
    String user = "late-" + UUID.randomUUID();
    String key = CLUSTER.key("admin");
    Credentials credentials = new Credentials(user, key);
    assertThatThrownBy(() -> pool.lease(config(), credentials).close())
        .isInstanceOf(VolumeException.class);
    CephUsers.make(CLUSTER, key, List.of(user));
    try (Lease lease = pool.lease(config(), credentials)) {
      assertThat(lease.cluster().fsid()).isNotBlank();
    }
  }

  @Test
  void aClusterThatDoesNotAnswerIsUnavailableInTime() {
    try (ConnectionPool impatient =
        new ConnectionPool(Duration.ofSeconds(5), Duration.ofSeconds(5))) {
      ClusterConfig nobody = new ClusterConfig("silent", List.of("127.0.0.1:1"), "", "csi", "csi");
      for (int i = 0; i < 2; i++) { // the second is told what the first found
        assertThat(
                catchThrowableOfType(
                        VolumeException.class, () -> impatient.lease(nobody, admin()).close())
                    .reason())
            .isEqualTo(Reason.UNAVAILABLE);
      }
      try (Lease other = impatient.lease(config(), admin())) {
        assertThat(other.cluster().fsid()).isNotBlank();
      }
    }
  }

  @Test
  void closingWithLeasesOpenClosesWhenTheLastEnds() {
    Lease first = pool.lease(config(), admin());
    Lease second = pool.lease(config(), admin());
    RadosCluster connection = first.cluster();
    pool.close();
    Awaitility.await().until(() -> pool.size() == 0);
    assertThat(first.rbdPool(CLUSTER.pool()).poolId()).isPositive();
    first.close();
    first.close(); // closing twice is closing once
    assertThat(connection.fsid()).isNotBlank();
    second.close();
    awaitClosed(connection);
  }

  @Test
  void aPoolThatWasMadeAgainUnderItsNameIsOpenedAgain() {
    String name = "again-" + UUID.randomUUID();
    CLUSTER.ceph("config", "set", "mon", "mon_allow_pool_delete", "true");
    CLUSTER.ceph("osd", "pool", "create", name, "1");
    try (Lease lease = pool.lease(config(), admin())) {
      IoContext old = lease.rbdPool(name);
      old.writeFull("object", new byte[1]);
      removePool(name);
      lease.cluster().awaitLatestOsdMap();
      assertThatThrownBy(() -> lease.rbdPool(name)).isInstanceOf(CephException.NotFound.class);
      CLUSTER.ceph("osd", "pool", "create", name, "1");
      IoContext made = lease.rbdPool(name);
      assertThat(made.poolId()).isNotEqualTo(old.poolId());
      made.writeFull("object", new byte[1]);

      // A name that is given to another pool leads to that one.
      CLUSTER.ceph("osd", "pool", "rename", name, name + "-renamed");
      CLUSTER.ceph("osd", "pool", "create", name, "1");
      lease.cluster().awaitLatestOsdMap();
      assertThat(lease.rbdPool(name).poolId()).isNotEqualTo(made.poolId());
      assertThat(lease.rbdPool(made.poolId()).poolId()).isEqualTo(made.poolId());
    } finally {
      removePool(name);
      removePool(name + "-renamed");
    }
  }

  private static void removePool(String name) {
    CLUSTER.ceph("osd", "pool", "rm", name, name, "--yes-i-really-really-mean-it");
  }

  @ParameterizedTest
  @CsvSource({
    "not!an!address, FAILED_PRECONDITION, is not the address of a monitor",
    "127.0.0.1:99999, FAILED_PRECONDITION, has the port 99999",
    "no-such-host.invalid:6789, UNAVAILABLE, cannot be resolved"
  })
  void anAddressThatIsNoneIsNotTakenForWrongCredentials(
      String monitor, VolumeException.Reason reason, String text) {
    ClusterConfig wrong = new ClusterConfig("typo", List.of(monitor), "", "csi", "csi");
    assertThatThrownBy(() -> pool.lease(wrong, admin()))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(reason))
        .hasMessageContaining("typo")
        .hasMessageContaining(text);
  }

  @Test
  void aHundredConnectionsLeaveNoSocket() throws IOException {
    String key = CLUSTER.key("admin");
    String stem = "many-" + UUID.randomUUID() + "-";
    List<String> users = Stream.iterate(0, i -> i + 1).limit(100).map(i -> stem + i).toList();
    CephUsers.make(CLUSTER, key, users);
    try (ConnectionPool first = new ConnectionPool(TIMEOUT, TIMEOUT)) {
      first.lease(config(), admin()).close(); // whatever stays for the process is there now
    }
    long before = settledSockets();
    for (String user : users) {
      try (Lease lease = pool.lease(config(), new Credentials(user, key))) {
        assertThat(lease.rbdPool(CLUSTER.pool()).poolId()).isPositive();
      }
    }
    assertThat(pool.size()).isPositive();
    assertThat(sockets()).isGreaterThan(before);
    pool.close();
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .untilAsserted(() -> assertThat(sockets()).isLessThanOrEqualTo(before));
  }

  /** The number of sockets when it no longer falls. */
  private static long settledSockets() {
    long[] last = {Long.MAX_VALUE};
    return Awaitility.await()
        .pollInterval(Duration.ofMillis(200))
        .until(
            () -> {
              long now = sockets();
              boolean settled = now >= last[0];
              last[0] = now;
              return settled ? now : -1;
            },
            count -> count >= 0);
  }

  private static long sockets() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return files.filter(ConnectionPoolIT::isSocket).count();
    }
  }

  private static boolean isSocket(Path file) {
    try {
      return Files.readSymbolicLink(file).toString().startsWith("socket:");
    } catch (IOException e) {
      return false; // closed meanwhile
    }
  }
}
