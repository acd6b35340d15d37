package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** What the tests of the engine share: a connection, a pool, a fresh name and a reclaimer. */
abstract class ReclaimCase {
  static final int MIB = 1 << 20;
  static final Set<ImageFeature> MAPPED =
      Set.of(
          ImageFeature.LAYERING,
          ImageFeature.EXCLUSIVE_LOCK,
          ImageFeature.OBJECT_MAP,
          ImageFeature.FAST_DIFF,
          ImageFeature.DEEP_FLATTEN);

  static TestCluster ceph;
  static RadosCluster cluster;
  static IoContext io;
  static RbdPool pool;

  final OperationRegistry operations = new OperationRegistry(Duration.ofHours(1));
  final SpaceReclaimer reclaimer = new SpaceReclaimer(new DriverMetrics(), new Admission(0));
  String name;

  @BeforeAll
  static void connect() {
    ceph = TestCluster.shared();
    cluster = RadosCluster.connect(ceph.settings().option("rbd_cache", "false").build());
    io = cluster.openPool(ceph.pool());
    pool = new RbdPool(io);
  }

  @AfterAll
  static void disconnect() {
    io.close();
    cluster.close();
  }

  @BeforeEach
  void chooseName() {
    name = "image-" + UUID.randomUUID();
  }

  static ImageOptions.Builder options() {
    return ImageOptions.builder().features(MAPPED).objectSizeBytes(4 * MIB);
  }

  ReclaimTarget target() {
    return new TestTarget(ceph, pool, name);
  }

  /** Runs work as an operation, here and now. */
  <T> T operate(Function<Operation, T> work) {
    return operations.start(UUID.randomUUID().toString(), "test", Runnable::run, work).join();
  }

  ReclaimResult reclaim(Map<String, String> parameters) {
    return reclaim(reclaimer, parameters);
  }

  ReclaimResult reclaim(SpaceReclaimer by, Map<String, String> parameters) {
    ReclaimPlan plan = ReclaimPlan.parse(parameters);
    return operate(operation -> by.reclaim(target(), plan, operation));
  }

  CompletableFuture<ReclaimResult> reclaimAside(Map<String, String> parameters) {
    return CompletableFuture.supplyAsync(() -> reclaim(parameters));
  }

  static ReclaimResult reclaimed(ReclaimResult result) {
    assertThat(result.outcome()).isEqualTo(ReclaimResult.Outcome.DONE);
    return result;
  }

  long used() {
    return new UsageMeter(pool)
        .byObjectMap(ImageId.find(pool, name).orElseThrow())
        .orElseThrow()
        .headBytes();
  }

  static byte[] filled(int length, int value) {
    byte[] bytes = new byte[length];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }

  RbdImage open() {
    return pool.open(name);
  }
}
