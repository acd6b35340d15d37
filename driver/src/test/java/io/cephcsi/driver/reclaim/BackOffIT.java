package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.cephcsi.bindings.cls.HeaderLock;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A cluster of two OSDs with two copies of everything, that really recovers and really is slow. */
class BackOffIT {
  private static final int MIB = 1 << 20;
  private static final int OBJECTS = 48;
  private static final String WAITING = "waiting for the cluster: ";

  private static LocalCluster ceph;
  private static RadosCluster cluster;
  private static IoContext io;
  private static RbdPool pool;

  private final OperationRegistry operations = new OperationRegistry(Duration.ofHours(1));
  private final String name = "image-" + UUID.randomUUID();

  @BeforeAll
  static void start() {
    assumeThat(TestCluster.canControl()).isTrue();
    ceph = TestCluster.start("backoff", "--osds", "2");
    // Else an OSD whose partner is frozen serves no read any more, after 8 to 16 seconds.
    ceph.ceph("config", "set", "osd", "osd_pool_default_read_lease_ratio", "10");
    for (String option : new String[] {"size", "min_size"}) {
      ceph.ceph("osd", "pool", "set", "rbd", option, option.equals("size") ? "2" : "1");
    }
    // What is written waits for osd.1, and nothing is asked of it.
    ceph.ceph("osd", "primary-affinity", "osd.1", "0");
    ceph.ceph("config", "set", "osd", "osd_op_complaint_time", "1");
    cluster =
        RadosCluster.connect(
            ceph.settings()
                .option("rbd_cache", "false")
                .operationTimeout(Duration.ofMinutes(3))
                .build());
    io = cluster.openPool("rbd");
    pool = new RbdPool(io);
  }

  @AfterAll
  static void stop() {
    if (ceph != null) {
      io.close();
      cluster.close();
      ceph.close();
    }
  }

  @BeforeEach
  void makeImageOfZeroes() {
    awaitCalm();
    pool.create(
        name,
        4L * MIB * OBJECTS,
        ImageOptions.builder().features(ReclaimCase.MAPPED).objectSizeBytes(4 * MIB).build());
    write(0, OBJECTS);
  }

  @AfterEach
  void heal() {
    ceph.resume("osd.1");
    ceph.restart("osd.1");
    for (String flag : new String[] {"norecover", "nobackfill", "nodown"}) {
      ceph.ceph("osd", "unset", flag);
    }
    operations.cancelAll();
  }

  private void write(int from, int to) {
    try (RbdImage image = pool.open(name)) {
      for (int i = from; i < to; i++) {
        image.write(4L * MIB * i, new byte[MIB]);
      }
    }
  }

  private static String health() {
    return ceph.ceph("health", "detail");
  }

  private static void awaitHealth(String check) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(90))
        .pollInterval(Duration.ofMillis(500))
        .until(() -> health().contains(check));
  }

  private static void awaitCalm() {
    Awaitility.await()
        .atMost(Duration.ofSeconds(120))
        .pollInterval(Duration.ofSeconds(1))
        .until(
            () -> {
              String now = health();
              return !now.contains("PG_")
                  && !now.contains("SLOW_OPS")
                  && !now.contains("OSD_DOWN")
                  && !now.contains("OBJECT_MISPLACED");
            });
  }

  private long used() {
    return new UsageMeter(pool)
        .byObjectMap(ImageId.find(pool, name).orElseThrow())
        .orElseThrow()
        .headBytes();
  }

  private CompletableFuture<ReclaimResult> reclaim(Duration patience, String... parameters) {
    return reclaim(new TestTarget(ceph, pool, name), patience, parameters);
  }

  private CompletableFuture<ReclaimResult> reclaim(
      ReclaimTarget target, Duration patience, String... parameters) {
    SpaceReclaimer reclaimer =
        new SpaceReclaimer(
            new DriverMetrics(),
            new Admission(0),
            new ClusterLoad.Limits(patience, Duration.ofMillis(300)));
    ReclaimPlan plan =
        ReclaimPlan.parse(parameters.length == 0 ? Map.of() : Map.of(parameters[0], parameters[1]));
    return operations.start(
        name,
        "reclaim",
        task -> new Thread(task).start(),
        operation -> reclaimer.reclaim(target, plan, operation));
  }

  /** Its operations are given up after 4 seconds. */
  private record Hurried(TestTarget target) implements WrappedTarget {
    @Override
    public Writable open(Map<String, String> options) {
      Map<String, String> all = new HashMap<>(options);
      all.put("rados_osd_op_timeout", "4");
      return target.open(all);
    }
  }

  private void awaitSparsify() {
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(50))
        .until(
            () ->
                operations.running().stream()
                    .filter(o -> o.phase().equals("sparsify"))
                    .mapToDouble(Operation::percent)
                    .anyMatch(percent -> percent > 0));
  }

  private void awaitPhase(String phase) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(50))
        .until(() -> operations.running().stream().anyMatch(o -> o.phase().startsWith(phase)));
  }

  private void assertStands(CompletableFuture<ReclaimResult> reclaim) throws InterruptedException {
    long before = used();
    TimeUnit.SECONDS.sleep(2);
    assertThat(reclaim).isNotDone();
    assertThat(used()).isEqualTo(before);
  }

  private static void assertDone(CompletableFuture<ReclaimResult> reclaim) throws Exception {
    ReclaimResult result = reclaim.get(120, TimeUnit.SECONDS);
    assertThat(result.outcome()).as(result.reason()).isEqualTo(ReclaimResult.Outcome.DONE);
    assertThat(result.after()).hasValue(0);
  }

  @Test
  void waitsUntilTheClusterHasRecovered() throws Exception {
    ceph.ceph("osd", "set", "norecover"); // so that it lasts as long as the test wants
    ceph.ceph("osd", "set", "nobackfill");
    ceph.stop("osd.1");
    awaitHealth("OSD_DOWN");
    write(0, OBJECTS); // what osd.1 has to catch up with
    ceph.restart("osd.1");
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> !health().contains("OSD_DOWN") && health().contains("PG_DEGRADED"));
    CompletableFuture<ReclaimResult> reclaim = reclaim(Duration.ofMinutes(5));
    awaitPhase(WAITING + "PG_DEGRADED");
    assertStands(reclaim);
    ceph.ceph("osd", "unset", "norecover");
    ceph.ceph("osd", "unset", "nobackfill");
    assertDone(reclaim);
    awaitCalm();
  }

  @Test
  void stopsBetweenTwoObjectsWhenTheClusterBeginsToRecover() throws Exception {
    CompletableFuture<ReclaimResult> reclaim =
        reclaim(Duration.ofMinutes(5), "reclaim.maxBytesPerSecond", Integer.toString(8 * MIB));
    awaitSparsify();
    ceph.stop("osd.1");
    awaitPhase(WAITING);
    assertThat(used()).isPositive();
    assertStands(reclaim);
    ceph.restart("osd.1");
    awaitPhase("sparsify");
    assertDone(reclaim);
  }

  @Test
  void goesOnAfterABoundedTimeWhateverTheClusterSays() throws Exception {
    ceph.stop("osd.1");
    awaitHealth("PG_DEGRADED");
    long start = System.nanoTime();
    CompletableFuture<ReclaimResult> reclaim = reclaim(Duration.ofSeconds(3));
    assertDone(reclaim);
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofSeconds(3));
    assertThat(health()).contains("PG_DEGRADED");
  }

  @Test
  void waitsWhileOperationsAreSlow() throws Exception {
    ceph.ceph("osd", "set", "nodown");
    ceph.pause("osd.1");
    try (WriteOperation write = new WriteOperation().writeFull(new byte[4096]);
        var slow = io.operateAsync("slow-" + name, write)) {
      awaitHealth("SLOW_OPS");
      CompletableFuture<ReclaimResult> reclaim = reclaim(Duration.ofMinutes(5));
      awaitPhase(WAITING + "SLOW_OPS");
      assertStands(reclaim);
      ceph.resume("osd.1");
      slow.await();
      assertDone(reclaim);
    }
  }

  private void reclaimUntilItIsGivenUp(TestTarget target) throws Exception {
    ceph.ceph("osd", "set", "nodown");
    CompletableFuture<ReclaimResult> reclaim =
        reclaim(
            new Hurried(target),
            Duration.ofSeconds(1),
            "reclaim.maxBytesPerSecond",
            Integer.toString(8 * MIB));
    awaitSparsify();
    ceph.pause("osd.1");
    assertThat(reclaim)
        .failsWithin(Duration.ofMinutes(2))
        .withThrowableThat()
        .withRootCauseInstanceOf(CephException.TimedOut.class);
    ceph.resume("osd.1");
  }

  /** What was given up may still be carried out, when somebody else has the image. */
  @Test
  void whatMayBeOnItsWayIsShutOut() throws Exception {
    reclaimUntilItIsGivenUp(new TestTarget(ceph, pool, name));
    try (RbdImage image = pool.openReadOnly(name)) {
      assertThat(HeaderLock.holders(image.pool(), image.id())).hasSize(1);
      assertThat(ceph.ceph("osd", "blocklist", "ls"))
          .contains(HeaderLock.holders(image.pool(), image.id()).get(0).replaceFirst("^v\\d:", ""));
    }
    awaitCalm();
    // The object map may still have objects that went away after nobody waited for it any more.
    assertThat(reclaim(Duration.ofMinutes(5)).get(2, TimeUnit.MINUTES).outcome())
        .isEqualTo(ReclaimResult.Outcome.DONE);
  }

  /** Also when the reclaim is cancelled, or its thread interrupted, meanwhile. */
  @Test
  void theLockIsKeptUntilItsClientIsShutOut() throws Exception {
    TestTarget target = new TestTarget(ceph, pool, name);
    try (RadosCluster hasty =
            RadosCluster.connect(ceph.settings().operationTimeout(Duration.ofSeconds(2)).build());
        ReclaimTarget.Writable open = target.open(Map.of())) {
      ReclaimLock lock = new ReclaimLock(open.image(), hasty);
      lock.acquire();
      Thread fencing =
          new Thread(
              () -> {
                lock.fence();
                lock.release();
              });
      ceph.pause("mon.a");
      try {
        fencing.start();
        fencing.join(5000);
        fencing.interrupt();
        fencing.join(5000);
        assertThat(fencing.isAlive()).isTrue();
      } finally {
        ceph.resume("mon.a");
      }
      fencing.join(60_000);
      assertThat(fencing.isAlive()).isFalse();
      String owner = HeaderLock.holders(pool, open.image().id()).get(0).replaceFirst("^v\\d:", "");
      assertThat(ceph.ceph("osd", "blocklist", "ls")).contains(owner);
    }
  }

  /** Else the image would stay open, and its lock be held, for ever. */
  @Test
  void whoMayNotBlocklistEndsAllTheSame() throws Exception {
    try (RadosCluster weak = RadosCluster.connect(TestTarget.weak(ceph, "weak").build());
        IoContext weakIo = weak.openPool("rbd")) {
      reclaimUntilItIsGivenUp(new TestTarget(ceph, new RbdPool(weakIo), name, "weak"));
    }
    awaitCalm();
  }

  @Test
  void anEstimateWithoutAnAnswerIsNotTheWholePool() {
    try (RadosCluster hasty =
            RadosCluster.connect(ceph.settings().operationTimeout(Duration.ofSeconds(4)).build());
        IoContext own = hasty.openPool("rbd")) {
      String image = ImageId.find(pool, name).orElseThrow();
      List<ImageEstimate> found = new ArrayList<>();
      boolean all =
          operations
              .start(
                  "pool",
                  "estimate",
                  Runnable::run,
                  operation ->
                      new PoolEstimator(own, ReclaimPlan.DEFAULT, 1, 0)
                          .run(
                              operation,
                              id -> {
                                if (id.equals(image)) {
                                  ceph.pause("osd.0"); // the pool is listed by now
                                }
                                return !id.equals(image);
                              },
                              estimate -> {
                                ceph.resume("osd.0");
                                found.add(estimate);
                              }))
              .join();
      assertThat(found).hasSize(1);
      assertThat(found.get(0).trim().reason()).isEqualTo(PoolEstimator.UNREADABLE);
      assertThat(found.get(0).isOfTheMoment()).isTrue();
      assertThat(all).isFalse();
    } finally {
      ceph.resume("osd.0");
    }
  }

  @Test
  void whoWaitsForTheClusterCanBeCancelled() throws Exception {
    ceph.stop("osd.1");
    awaitHealth("PG_DEGRADED");
    CompletableFuture<ReclaimResult> reclaim = reclaim(Duration.ofMinutes(5));
    awaitPhase(WAITING);
    operations.cancelAll();
    ReclaimResult result = reclaim.get(10, TimeUnit.SECONDS);
    assertThat(result.outcome()).isEqualTo(ReclaimResult.Outcome.SKIPPED);
    assertThat(used()).isEqualTo(4L * MIB * OBJECTS);
  }
}
