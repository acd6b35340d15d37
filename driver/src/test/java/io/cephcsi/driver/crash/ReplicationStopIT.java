package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.MirrorDaemon;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.proto.addons.replication.ControllerGrpc;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A driver is stopped in a promotion, just before it calls librbd, for longer than its lock holds,
 * as it seems. Another driver promotes the volume, and demotes it again. The first one goes on: its
 * promotion must not be carried out any more.
 */
class ReplicationStopIT extends CrashCase {
  private static final long SIZE = 16L << 20;
  private static final String LOCK = "lock.csi.java.promotion";

  private static String pool;
  private static TestDriver driver;

  @BeforeAll
  static void start() {
    pool = "mirrored-" + UUID.randomUUID();
    MirrorDaemon.makePool(CLUSTER, pool);
    driver = TestDriver.rbd(CLUSTER).start();
  }

  @AfterAll
  static void stop() {
    driver.close();
    CLUSTER.ceph("osd", "pool", "rm", pool, pool, "--yes-i-really-really-mean-it");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aPromotionThatWasStoppedIsNotCarriedOutAfterAnotherOne(boolean force) throws Exception {
    Volume volume =
        driver.create(
            driver.createRequest("v-" + UUID.randomUUID(), SIZE).putParameters("pool", pool));
    String id = volume.getVolumeId();
    TestReplication ours = TestReplication.of(driver);
    ours.enable(id, Map.of());
    ours.demote(id, false);
    ExecutorService client = Executors.newSingleThreadExecutor();
    // The lock is the first write, the call of librbd the second.
    try (FaultyDriver faulty = FaultyDriver.start(CLUSTER, "before-stop,2,calls")) {
      TestReplication theirs =
          new TestReplication(ControllerGrpc.newBlockingStub(faulty.channel()), driver.secrets());
      Future<Code> answer = client.submit(() -> codeOf(() -> theirs.promote(id, force)));
      assertThat(faulty.stoppedUnless(answer::isDone)).isTrue();
      assertThat(codeOf(() -> ours.promote(id, force))).isEqualTo(Code.ABORTED);
      try (RadosCluster cluster = CLUSTER.connect();
          IoContext io = cluster.openPool(pool)) {
        dropLock(io, TestDriver.image(volume));
        ours.promote(id, force);
        assertThat(isPrimary(io, volume)).isTrue();
        ours.demote(id, false);
        faulty.resume();
        assertThat(answer.get(60, TimeUnit.SECONDS)).isIn(Code.ABORTED, Code.UNAVAILABLE);
        assertThat(isPrimary(io, volume)).isFalse();
      }
      ours.promote(id, force);
      ours.disable(id, false);
    } finally {
      client.shutdownNow();
    }
    driver.delete(id);
  }

  private static Code codeOf(Runnable call) {
    try {
      call.run();
      return Code.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus().getCode();
    }
  }

  /** As the cluster does when the lock is not renewed in time. */
  private static void dropLock(IoContext io, String image) {
    String id;
    try (RbdImage open = new RbdPool(io).openReadOnly(image)) {
      id = open.id();
    }
    CLUSTER.rados("-p", pool, "rmxattr", ImageHeader.object(id), LOCK);
  }

  private static boolean isPrimary(IoContext io, Volume volume) {
    try (RbdImage image = new RbdPool(io).openReadOnly(TestDriver.image(volume))) {
      return image.mirroring().orElseThrow().primary();
    }
  }
}
