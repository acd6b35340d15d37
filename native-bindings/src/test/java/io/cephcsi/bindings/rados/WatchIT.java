package io.cephcsi.bindings.rados;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.internal.Callbacks;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class WatchIT {
  private static final String NAMESPACE = "watch";

  private static TestCluster ceph;
  private static RadosCluster cluster;
  private static IoContext io;
  private static RadosCluster otherCluster;
  private static IoContext other;
  private final Queue<String> heard = new ConcurrentLinkedQueue<>();
  private String object;

  @BeforeAll
  static void connect() {
    ceph = TestCluster.shared();
    cluster = ceph.connect();
    io = cluster.openPool(ceph.pool(), NAMESPACE);
    otherCluster = ceph.connect();
    other = otherCluster.openPool(ceph.pool(), NAMESPACE);
  }

  @AfterAll
  static void disconnect() {
    other.close();
    otherCluster.close();
    io.close();
    cluster.close();
  }

  @BeforeEach
  void makeObject() {
    object = "object-" + UUID.randomUUID();
    io.writeFull(object, new byte[0]);
  }

  private Watch watch(IoContext context) {
    return context.watch(object, 0, payload -> heard.add(new String(payload, UTF_8)));
  }

  private String watchers() {
    return ceph.rados("-p", ceph.pool(), "-N", NAMESPACE, "listwatchers", object);
  }

  @Test
  void aNotificationReachesTheWatcherBeforeNotifyReturns() {
    try (Watch watch = watch(io)) {
      assertThat(other.notifyWatchers(object, "hello".getBytes(UTF_8), 5000)).isEqualTo(1);
      assertThat(heard).containsExactly("hello");
      assertThat(other.notifyWatchers(object, new byte[0], 5000)).isEqualTo(1);
      assertThat(heard).containsExactly("hello", "");
      String large = "x".repeat(100_000);
      assertThat(other.notifyWatchers(object, large.getBytes(UTF_8), 5000)).isEqualTo(1);
      assertThat(heard).contains(large);
      watch.verify();
    }
  }

  @Test
  void everyWatcherAnswers() {
    try (Watch first = watch(io);
        Watch second = watch(io);
        Watch third = watch(other)) {
      assertThat(other.notifyWatchers(object, "all".getBytes(UTF_8), 5000)).isEqualTo(3);
      assertThat(heard).containsExactly("all", "all", "all");
      assertThat(other.notifiedClients(object, new byte[0], 5000))
          .containsExactlyInAnyOrder(
              cluster.instanceId(), cluster.instanceId(), otherCluster.instanceId());
      for (Watch watch : List.of(first, second, third)) {
        watch.verify();
      }
    }
    assertThat(other.notifyWatchers(object, new byte[0], 5000)).isZero();
  }

  @Test
  void theCommandNotifiesToo() {
    try (Watch watch = watch(io)) {
      ceph.rados("-p", ceph.pool(), "-N", NAMESPACE, "notify", object, "from the command");
      assertThat(heard).hasSize(1);
      assertThat(heard.peek()).contains("from the command");
      watch.verify();
    }
  }

  @Test
  void theClusterSeesTheWatchWhileItIsOpen() {
    assertThat(watchers()).isEmpty();
    Watch watch = watch(io);
    assertThat(watchers()).contains("client." + cluster.instanceId());
    watch.close();
    watch.close();
    assertThat(watchers()).isEmpty();
    assertThatThrownBy(watch::verify).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void nothingIsHeardAfterClose() {
    for (int round = 0; round < 20; round++) {
      Watch watch = watch(io);
      Thread notifier =
          new Thread(
              () -> {
                for (int i = 0; i < 5; i++) {
                  other.notifyWatchers(object, new byte[0], 5000);
                }
              });
      notifier.start();
      await().until(() -> !heard.isEmpty());
      watch.close();
      int before = heard.size();
      try {
        notifier.join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      assertThat(other.notifyWatchers(object, new byte[0], 5000)).isZero();
      assertThat(heard).hasSize(before);
      heard.clear();
    }
  }

  @Test
  void closeWaitsForTheListenerThatRuns() throws InterruptedException {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch leave = new CountDownLatch(1);
    Watch watch =
        io.watch(
            object,
            0,
            payload -> {
              inside.countDown();
              awaitLatch(leave);
              heard.add("left");
            });
    Thread notifier = new Thread(() -> other.notifyWatchers(object, new byte[0], 10_000));
    notifier.start();
    inside.await();
    Thread closer = new Thread(watch::close);
    closer.start();
    await().until(watch::isClosed);
    assertThat(heard).isEmpty();
    leave.countDown();
    closer.join();
    assertThat(heard).containsExactly("left");
    notifier.join();
  }

  @Test
  void aWatcherThatDoesNotAnswerTimesTheNotifierOut() {
    CountDownLatch leave = new CountDownLatch(1);
    try (Watch slow = io.watch(object, 0, payload -> awaitLatch(leave));
        Watch quick = watch(other)) {
      assertThatThrownBy(() -> other.notifyWatchers(object, new byte[0], 1000))
          .isInstanceOf(CephException.TimedOut.class)
          .hasMessageContaining(object);
      assertThat(heard).hasSize(1);
      quick.verify();
      leave.countDown();
      slow.verify();
    }
  }

  @Test
  void aListenerThatThrowsStillAnswersAndIsLogged() {
    Logger logger = (Logger) LoggerFactory.getLogger(Callbacks.class);
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    logger.addAppender(log);
    logger.setAdditive(false);
    try (Watch watch =
        io.watch(
            object,
            0,
            payload -> {
              throw new AssertionError("thrown on purpose");
            })) {
      assertThat(other.notifyWatchers(object, new byte[0], 5000)).isEqualTo(1);
      watch.verify();
      await().until(() -> log.list.size() == 1);
      assertThat(log.list.get(0).getThrowableProxy().getMessage()).isEqualTo("thrown on purpose");
    } finally {
      logger.detachAppender(log);
      logger.setAdditive(true);
    }
  }

  @Test
  void missingObjectsCannotBeWatched() {
    assertThatThrownBy(() -> io.watch("absent", 0, payload -> {}))
        .isInstanceOf(CephException.NotFound.class)
        .hasMessageContaining("absent");
    assertThatThrownBy(() -> io.notifyWatchers("absent", new byte[0], 1000))
        .isInstanceOf(CephException.NotFound.class);
  }

  @Test
  void theWatcherIsToldWhenTheObjectIsRemoved() {
    Queue<Integer> lost = new ConcurrentLinkedQueue<>();
    Watch watch = io.watch(object, 0, losing(lost));
    other.remove(object);
    await().atMost(Duration.ofSeconds(20)).until(() -> !lost.isEmpty());
    assertLost(watch, lost);
    watch.close();
    assertThat(watch.isClosed()).isTrue();
  }

  @Test
  void aBlocklistedWatcherIsToldAndCanBeClosed() {
    Queue<Integer> lost = new ConcurrentLinkedQueue<>();
    RadosCluster victim = ceph.connect();
    IoContext theirs = victim.openPool(ceph.pool(), NAMESPACE);
    Watch watch = theirs.watch(object, 0, losing(lost));
    String address = victim.addresses();
    cluster.blocklist(address, Duration.ofMinutes(10));
    try {
      await()
          .atMost(Duration.ofSeconds(20))
          .until(
              () -> {
                victim.awaitLatestOsdMap();
                return !lost.isEmpty();
              });
      assertLost(watch, lost);
      watch.close();
      theirs.close();
      victim.close();
      assertThat(watchers()).isEmpty();
    } finally {
      cluster.monCommand(
          "{\"prefix\": \"osd blocklist\", \"blocklistop\": \"rm\", \"addr\": \""
              + address
              + "\"}");
    }
  }

  @Test
  void aPoolWithOpenWatchesStaysOpen() {
    try (IoContext mine = cluster.openPool(ceph.pool(), NAMESPACE)) {
      List<Watch> watches = new ArrayList<>(List.of(watch(mine), watch(mine)));
      for (Watch watch : watches) {
        assertThatThrownBy(mine::close).isInstanceOf(IllegalStateException.class);
        watch.verify();
        watch.close();
      }
    }
  }

  private static void assertLost(Watch watch, Queue<Integer> reasons) {
    assertThat(reasons).containsOnly(-Errno.ENOTCONN.number());
    assertThatThrownBy(watch::verify)
        .isInstanceOfSatisfying(
            CephException.class, e -> assertThat(e.errno()).isEqualTo(Errno.ENOTCONN));
  }

  private Watch.Listener losing(Queue<Integer> lost) {
    return new Watch.Listener() {
      @Override
      public void notified(byte[] payload) {
        heard.add(new String(payload, UTF_8));
      }

      @Override
      public void lost(int error) {
        lost.add(error);
      }
    };
  }

  private static void awaitLatch(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
