package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.rbd.MirrorInfo;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.MirrorDaemon;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.proto.addons.replication.ControllerGrpc;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A driver that dies over a call of replication: the repeated call ends what was begun. One that
 * was only stopped over a promotion, for longer than its lock holds, as it seems: what it still
 * does is not carried out after another driver's.
 */
class ReplicationCrashIT extends CrashCase {
  private static final long SIZE = 16L << 20;
  private static final Map<String, String> SCHEDULE = Map.of("schedulingInterval", "1h");
  private static final String LOCK = "lock.csi.java.promotion";
  private static final String CALLS = "calls";
  private static final String MANAGER = "mgr-command";
  private static final Duration LONGEST = Duration.ofSeconds(60);

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

  private static TestReplication ours() {
    return TestReplication.of(driver);
  }

  private static void assertMirrored(Volume volume, boolean mirrored, boolean primary) {
    Optional<MirrorInfo> info = withImage(volume, RbdImage::mirroring);
    assertThat(info.isPresent()).isEqualTo(mirrored);
    assertThat(info.filter(MirrorInfo::primary).isPresent()).isEqualTo(primary);
  }

  private static <T> T withImage(Volume volume, Function<RbdImage, T> look) {
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool(pool);
        RbdImage image = new RbdPool(io).openReadOnly(TestDriver.image(volume))) {
      return look.apply(image);
    }
  }

  /** What the cluster does with the lock of a driver that died, after half a minute. */
  private static void dropLock(Volume volume) {
    String header = withImage(volume, image -> ImageHeader.object(image.id()));
    if (CLUSTER.rados("-p", pool, "listxattr", header).contains(LOCK)) {
      CLUSTER.rados("-p", pool, "rmxattr", header, LOCK);
    }
  }

  /**
   * Halts a driver at each of its writes, before or after it, and repeats the call with another
   * one.
   *
   * @param threads those whose writes count
   * @param prepare what is called before
   * @param call the call
   * @param check looks at the volume afterwards
   */
  private static void survives(
      String threads,
      BiConsumer<TestReplication, String> prepare,
      BiConsumer<TestReplication, String> call,
      Consumer<Volume> check)
      throws InterruptedException {
    int halted = 0;
    boolean more = true;
    for (int write = 1; more; write++) {
      for (String when : moments(write)) {
        CreateVolumeRequest.Builder request = driver.createRequest("v-" + UUID.randomUUID(), SIZE);
        Volume volume = driver.create(request.putParameters("pool", pool));
        prepare.accept(ours(), volume.getVolumeId());
        String fault = when + "," + write + "," + threads;
        more = dies(fault, faulty -> call.accept(faulty, volume.getVolumeId()));
        dropLock(volume);
        repeat(fault, () -> call.accept(ours(), volume.getVolumeId()));
        check.accept(volume);
        repeat(fault, () -> ours().disable(volume.getVolumeId(), true));
        repeat(fault, () -> driver.delete(volume.getVolumeId()));
        halted += more ? 1 : 0;
      }
    }
    assertThat(halted).isPositive();
  }

  /** One of the two, by turns, unless all are asked for. */
  private static List<String> moments(int write) {
    if (FULL) {
      return List.of("before", "after");
    }
    return List.of(Math.floorMod(GroupCrashCase.SEED + write, 2L) == 0 ? "before" : "after");
  }

  /** Calls a driver that halts at a write; false if the call has not so many. */
  private static boolean dies(String fault, Consumer<TestReplication> call)
      throws InterruptedException {
    try (FaultyDriver faulty = FaultyDriver.start(CLUSTER, fault)) {
      boolean answered = true;
      try {
        call.accept(
            new TestReplication(
                ControllerGrpc.newBlockingStub(faulty.channel()), driver.secrets()));
      } catch (StatusRuntimeException e) {
        assertThat(e.getStatus().getCode()).as(fault).isEqualTo(Code.UNAVAILABLE);
        answered = false;
      }
      boolean halted = faulty.halted(FaultyDriver.ending(answered));
      assertThat(halted || answered).as(fault).isTrue();
      if (!halted) {
        faulty.end();
      }
      return halted;
    }
  }

  /** The client of the process that died counts as a user of the image for a while. */
  private static void repeat(String fault, Runnable call) {
    Awaitility.await(fault)
        .atMost(LONGEST)
        .pollInterval(Duration.ofMillis(300))
        .ignoreExceptionsMatching(
            e ->
                e instanceof StatusRuntimeException failure
                    && (failure.getStatus().getCode() == Code.FAILED_PRECONDITION
                        || failure.getStatus().getCode() == Code.ABORTED))
        .untilAsserted(call::run);
  }

  @Test
  void enableVolumeReplication() throws InterruptedException {
    survives(
        CALLS,
        (replication, id) -> {},
        (replication, id) -> replication.enable(id, Map.of()),
        volume -> assertMirrored(volume, true, true));
  }

  @Test
  void disableVolumeReplication() throws InterruptedException {
    survives(
        CALLS,
        (replication, id) -> replication.enable(id, Map.of()),
        (replication, id) -> replication.disable(id, false),
        volume -> assertMirrored(volume, false, false));
  }

  @Test
  void demoteVolume() throws InterruptedException {
    survives(
        CALLS,
        (replication, id) -> replication.enable(id, Map.of()),
        (replication, id) -> replication.demote(id, false),
        volume -> assertMirrored(volume, true, false));
  }

  @Test
  void promoteVolume() throws InterruptedException {
    survives(CALLS, ReplicationCrashIT::demoted, ReplicationCrashIT::promote, this::isScheduled);
  }

  @Test
  void thePromotedVolumeGetsItsSchedule() throws InterruptedException {
    survives(
        MANAGER,
        (replication, id) -> {
          replication.enable(id, Map.of());
          replication.promote(id, false, Map.of("schedulingInterval", "2h")); // to be replaced
        },
        ReplicationCrashIT::promote,
        this::isScheduled);
  }

  private static void demoted(TestReplication replication, String id) {
    replication.enable(id, Map.of());
    replication.demote(id, false);
  }

  private static void promote(TestReplication replication, String id) {
    replication.promote(id, false, SCHEDULE);
  }

  private void isScheduled(Volume volume) {
    assertMirrored(volume, true, true);
    assertThat(
            CLUSTER
                .rbd(
                    "mirror",
                    "snapshot",
                    "schedule",
                    "ls",
                    "--pool",
                    pool,
                    "--image",
                    TestDriver.image(volume))
                .strip())
        .isEqualTo("every 1h");
  }

  /**
   * A driver is stopped in a call, at the call of librbd, and goes on when others have been made.
   *
   * @param prepare what is called before
   * @param stopped the call
   * @param others the others; the first is refused as long as the driver may be alive
   * @param primary what the volume is then, and stays
   */
  private static void isNotCarriedOutLate(
      BiConsumer<TestReplication, String> prepare,
      BiConsumer<TestReplication, String> stopped,
      List<BiConsumer<TestReplication, String>> others,
      boolean primary)
      throws Exception {
    Volume volume =
        driver.create(
            driver.createRequest("v-" + UUID.randomUUID(), SIZE).putParameters("pool", pool));
    String id = volume.getVolumeId();
    prepare.accept(ours(), id);
    ExecutorService client = Executors.newSingleThreadExecutor();
    // The lock is the first write, the call of librbd the second.
    try (FaultyDriver faulty = FaultyDriver.start(CLUSTER, "before-stop,2,calls")) {
      TestReplication theirs =
          new TestReplication(ControllerGrpc.newBlockingStub(faulty.channel()), driver.secrets());
      Future<Code> answer = client.submit(() -> codeOf(() -> stopped.accept(theirs, id)));
      assertThat(faulty.stoppedUnless(answer::isDone)).isTrue();
      assertThat(codeOf(() -> others.get(0).accept(ours(), id))).isEqualTo(Code.ABORTED);
      dropLock(volume);
      others.forEach(call -> call.accept(ours(), id));
      faulty.resume();
      assertThat(answer.get(60, TimeUnit.SECONDS)).isIn(Code.ABORTED, Code.UNAVAILABLE);
      assertMirrored(volume, true, primary);
      ours().disable(id, true);
    } finally {
      client.shutdownNow();
    }
    driver.delete(id);
  }

  private static BiConsumer<TestReplication, String> promoting(boolean force) {
    return (replication, id) -> replication.promote(id, force);
  }

  private static BiConsumer<TestReplication, String> demoting(boolean force) {
    return (replication, id) -> replication.demote(id, force);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aPromotionThatWasStoppedIsNotCarriedOutAfterAnotherOne(boolean force) throws Exception {
    isNotCarriedOutLate(
        ReplicationCrashIT::demoted,
        promoting(force),
        List.of(promoting(force), demoting(false)),
        false);
  }

  /** It would make a volume the primary that another site was given meanwhile. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aPromotionThatWasStoppedIsNotCarriedOutAfterADemotion(boolean force) throws Exception {
    isNotCarriedOutLate(
        ReplicationCrashIT::demoted, promoting(force), List.of(demoting(false)), false);
  }

  /** It would take the volume away from pods that use it since. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aDemotionThatWasStoppedIsNotCarriedOutAfterAPromotion(boolean force) throws Exception {
    isNotCarriedOutLate(
        (replication, id) -> {
          demoted(replication, id);
          replication.promote(id, false);
        },
        demoting(force),
        List.of(promoting(force)),
        true);
  }

  private static Code codeOf(Runnable call) {
    try {
      call.run();
      return Code.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus().getCode();
    }
  }
}
