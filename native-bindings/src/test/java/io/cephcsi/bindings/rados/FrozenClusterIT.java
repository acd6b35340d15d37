package io.cephcsi.bindings.rados;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A cluster that does not answer: every wait ends, and the connection outlives it. */
class FrozenClusterIT {
  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  private static LocalCluster ceph;

  @BeforeAll
  static void start() {
    assumeThat(TestCluster.canControl()).as("only local daemons can be frozen").isTrue();
    ceph = TestCluster.start("frozen", "--objectstore", "memstore");
  }

  @AfterAll
  static void stop() {
    if (ceph != null) {
      ceph.close();
    }
  }

  @Test
  void operationsTimeOutAndTheConnectionWorksAgainAfterwards() throws Exception {
    try (RadosCluster cluster =
            RadosCluster.connect(ceph.settings().operationTimeout(TIMEOUT).build());
        IoContext io = cluster.openPool(ceph.pool())) {
      io.writeFull("object", new byte[] {1});

      Map<String, Callable<?>> calls = new LinkedHashMap<>();
      calls.put("write", () -> run(() -> io.writeFull("object", new byte[] {2})));
      calls.put("read", () -> io.read("object", 0, 1));
      calls.put("stat", () -> io.stat("object"));
      calls.put("list", io::objects);
      calls.put("notify", () -> io.notifyWatchers("object", new byte[0], 1000));
      calls.put("watch", () -> io.watch("object", 0, payload -> {}));
      calls.put("mon command", () -> cluster.monCommand("{\"prefix\": \"df\"}"));
      calls.put("cluster stat", cluster::stat);
      calls.put("blocklist", () -> run(() -> cluster.blocklist("1.2.3.4:0/5", TIMEOUT)));
      calls.put("compound write", () -> compoundWrite(io));
      calls.put("compound read", () -> compoundRead(io));
      calls.put("asynchronous write", () -> asynchronousWrite(io));

      calls.put("latest map", () -> run(cluster::awaitLatestOsdMap));
      calls.put("missing pool", () -> cluster.poolId("absent"));
      calls.put("opening a missing pool", () -> cluster.openPool("absent"));

      // librados has no timeout for these: they wait until the cluster answers.
      Map<String, Callable<?>> patient = new LinkedHashMap<>();
      patient.put("mgr command", () -> cluster.mgrCommand("{\"prefix\": \"pg stat\"}"));
      cluster.mgrCommand("{\"prefix\": \"pg stat\"}");

      ExecutorService threads = Executors.newCachedThreadPool();
      Map<String, Future<Duration>> bounded = new LinkedHashMap<>();
      Map<String, Future<?>> unbounded = new LinkedHashMap<>();
      ceph.pause();
      try {
        patient.forEach((name, call) -> unbounded.put(name, threads.submit(call)));
        calls.forEach((name, call) -> bounded.put(name, threads.submit(() -> timeToTimeOut(call))));
        for (Map.Entry<String, Future<Duration>> result : bounded.entrySet()) {
          assertThat(result.getValue().get(40, TimeUnit.SECONDS))
              .as(result.getKey())
              .isBetween(TIMEOUT.minusMillis(100), TIMEOUT.multipliedBy(8));
        }
        unbounded.forEach((name, result) -> assertThat(result.isDone()).as(name).isFalse());
      } finally {
        ceph.resume();
        threads.shutdown();
      }
      for (Future<?> result : unbounded.values()) {
        result.get(60, TimeUnit.SECONDS);
      }

      await()
          .atMost(Duration.ofSeconds(30))
          .ignoreExceptionsInstanceOf(CephException.TimedOut.class)
          .until(() -> io.read("object", 0, 10).length == 1);
      assertThatThrownBy(() -> cluster.poolId("absent")).isInstanceOf(CephException.NotFound.class);
      io.writeFull("object", new byte[] {3});
      assertThat(io.read("object", 0, 10)).containsExactly(3);
      assertThat(cluster.monCommand("{\"prefix\": \"fsid\"}").text()).contains(cluster.fsid());
    }
  }

  @Test
  void watchesAndConnectionsCloseWhileNothingAnswers() {
    RadosCluster cluster = RadosCluster.connect(ceph.settings().operationTimeout(TIMEOUT).build());
    IoContext io = cluster.openPool(ceph.pool());
    io.writeFull("watched", new byte[0]);
    Watch watch = io.watch("watched", 0, payload -> {});
    ceph.pause();
    try {
      long begun = System.nanoTime();
      assertThatThrownBy(watch::close).isInstanceOf(CephException.TimedOut.class);
      io.close();
      cluster.close();
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(TIMEOUT.multipliedBy(8));
    } finally {
      ceph.resume();
    }
    assertThat(List.of(watch.isClosed(), io.isClosed(), cluster.isClosed())).containsOnly(true);
  }

  @Test
  void aNotificationThatTheOsdHasTakenWaitsUntilTheOsdGoesOn() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch answer = new CountDownLatch(1);
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (RadosCluster cluster =
            RadosCluster.connect(ceph.settings().operationTimeout(TIMEOUT).build());
        IoContext io = cluster.openPool(ceph.pool());
        RadosCluster other = ceph.connect();
        IoContext watched = other.openPool(ceph.pool())) {
      watched.writeFull("notified", new byte[1]);
      try (Watch watch = watched.watch("notified", 0, payload -> answerAfter(asked, answer))) {
        try {
          Future<Integer> call =
              thread.submit(() -> io.notifyWatchers("notified", new byte[0], 300_000));
          assertThat(asked.await(60, TimeUnit.SECONDS)).isTrue();
          // Behind the OSD's word that it has taken the notification.
          assertThat(io.read("notified", 0, 1)).hasSize(1);
          ceph.pause("osd.0");
          try {
            answer.countDown();
            assertThatThrownBy(() -> io.read("notified", 0, 1))
                .isInstanceOf(CephException.TimedOut.class);
            assertThat(call).isNotDone();
          } finally {
            ceph.resume("osd.0");
          }
          assertThat(call.get(60, TimeUnit.SECONDS)).isEqualTo(1);
          assertThat(watch.isClosed()).isFalse();
        } finally {
          answer.countDown();
        }
      }
    } finally {
      thread.shutdownNow();
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

  @Test
  void connectingTimesOut() {
    ceph.pause();
    try {
      long begun = System.nanoTime();
      assertThatThrownBy(
              () -> RadosCluster.connect(ceph.settings().connectTimeout(TIMEOUT).build()))
          .isInstanceOf(CephException.TimedOut.class);
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(TIMEOUT.multipliedBy(8));
    } finally {
      ceph.resume();
    }
  }

  private static Object run(Runnable call) {
    call.run();
    return true;
  }

  private static Object compoundWrite(IoContext io) {
    try (WriteOperation op = new WriteOperation().create()) {
      io.operate("object", op);
      return true;
    }
  }

  private static Object compoundRead(IoContext io) {
    try (ReadOperation op = new ReadOperation()) {
      op.stat();
      io.operate("object", op);
      return true;
    }
  }

  private static Object asynchronousWrite(IoContext io) {
    try (WriteOperation op = new WriteOperation().create();
        Completion completion = io.operateAsync("object", op)) {
      completion.await();
      return true;
    }
  }

  private static Duration timeToTimeOut(Callable<?> call) {
    long begun = System.nanoTime();
    assertThatThrownBy(call::call).isInstanceOf(CephException.TimedOut.class);
    return Duration.ofNanos(System.nanoTime() - begun);
  }
}
