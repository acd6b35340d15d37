package io.cephcsi.driver.csi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.ProbeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A cluster that hangs, or is down, and comes back. */
class UnreachableClusterIT {
  private static final long MIB = 1L << 20;
  private static final Duration OPERATION_TIMEOUT = Duration.ofSeconds(3);
  // One operation's timeout, the one of closing what was open, and slack for a busy machine.
  private static final Duration IN_TIME = Duration.ofSeconds(30);

  private static LocalCluster cluster;
  private TestDriver driver;

  @BeforeAll
  static void start() {
    assertThat(TestCluster.canControl()).as("needs CEPH_TEST_PROVIDER=local").isTrue();
    cluster = TestCluster.start("unreachable");
  }

  @AfterAll
  static void down() {
    cluster.close();
  }

  @BeforeEach
  void serve() {
    driver = TestDriver.start(cluster, "default", OPERATION_TIMEOUT);
  }

  @AfterEach
  void stop() {
    driver.close();
  }

  private static Code inTime(ThrowingCallable call) {
    CompletableFuture<StatusRuntimeException> failure =
        CompletableFuture.supplyAsync(
            () -> catchThrowableOfType(StatusRuntimeException.class, call));
    try {
      StatusRuntimeException status = failure.get(IN_TIME.toSeconds(), TimeUnit.SECONDS);
      assertThat(status).as("the call should have failed").isNotNull();
      return status.getStatus().getCode();
    } catch (TimeoutException e) {
      throw new AssertionError("no answer in " + IN_TIME, e);
    } catch (InterruptedException | ExecutionException e) {
      throw new IllegalStateException(e);
    }
  }

  private List<ThrowingCallable> callsOf(Volume volume) {
    List<ThrowingCallable> calls = new ArrayList<>();
    calls.add(() -> driver.create("pvc-" + UUID.randomUUID(), 64 * MIB));
    calls.add(() -> driver.create(volume.getVolumeId(), 64 * MIB));
    calls.add(() -> driver.delete(volume.getVolumeId()));
    calls.add(
        () ->
            driver
                .controller()
                .controllerExpandVolume(
                    ControllerExpandVolumeRequest.newBuilder()
                        .setVolumeId(volume.getVolumeId())
                        .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(128 * MIB))
                        .putAllSecrets(driver.secrets())
                        .build()));
    calls.add(
        () ->
            driver
                .reclaim()
                .controllerReclaimSpace(
                    ControllerReclaimSpaceRequest.newBuilder()
                        .setVolumeId(volume.getVolumeId())
                        .putAllSecrets(driver.secrets())
                        .build()));
    return calls;
  }

  private void answersInTimeAndWorksAgain(Runnable away, Runnable back) {
    Volume volume = driver.create("pvc-" + UUID.randomUUID(), 64 * MIB);
    away.run();
    try {
      for (ThrowingCallable call : callsOf(volume)) {
        assertThat(inTime(call)).isIn(Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE, Code.ABORTED);
        // Whatever the cluster does, the driver itself answers.
        assertThat(
                driver
                    .identity()
                    .withDeadlineAfter(2, TimeUnit.SECONDS)
                    .probe(ProbeRequest.getDefaultInstance())
                    .hasReady())
            .isTrue();
      }
    } finally {
      back.run();
    }
    Awaitility.await()
        .atMost(Duration.ofSeconds(90))
        .pollInterval(Duration.ofSeconds(1))
        .ignoreExceptionsMatching(StatusRuntimeException.class::isInstance)
        .untilAsserted(() -> driver.delete(volume.getVolumeId()));
    Volume another = driver.create("pvc-" + UUID.randomUUID(), 64 * MIB);
    driver.delete(another.getVolumeId());
  }

  @Test
  void aClusterThatHangsGetsAnAnswerInTimeAndGoesOnWithoutARestart() {
    answersInTimeAndWorksAgain(cluster::pause, cluster::resume);
  }

  @Test
  void aClusterThatIsDownGetsAnAnswerInTimeAndGoesOnWithoutARestart() {
    answersInTimeAndWorksAgain(cluster::stop, cluster::restart);
  }

  @Test
  void aDriverThatStartsWhileTheClusterIsAwayIsReadyOnceItIsBack() {
    cluster.pause();
    try (TestDriver early = TestDriver.start(cluster, "default", OPERATION_TIMEOUT)) {
      assertThat(early.identity().probe(ProbeRequest.getDefaultInstance()).getReady().getValue())
          .isFalse();
      assertThat(inTime(() -> early.create("pvc-" + UUID.randomUUID(), MIB)))
          .isEqualTo(Code.UNAVAILABLE);
      cluster.resume();
      Awaitility.await()
          .atMost(Duration.ofSeconds(30))
          .until(
              () ->
                  early.identity().probe(ProbeRequest.getDefaultInstance()).getReady().getValue());
      Volume volume =
          Awaitility.await()
              .atMost(Duration.ofSeconds(60))
              .ignoreExceptionsMatching(StatusRuntimeException.class::isInstance)
              .until(() -> early.create("pvc-late", 64 * MIB), v -> v != null);
      early.delete(volume.getVolumeId());
    } finally {
      cluster.resume();
    }
  }
}
