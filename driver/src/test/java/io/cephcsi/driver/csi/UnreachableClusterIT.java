package io.cephcsi.driver.csi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.csi.v1.ControllerGetCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.ControllerGetCapabilitiesResponse;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeResponse;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeResponse;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeResponse;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeResponse;
import io.cephcsi.proto.csi.v1.ProbeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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
    driver = TestDriver.rbd(cluster).timeout(OPERATION_TIMEOUT).start();
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

  /** The id of a new volume; a test before may have had the manager stopped. */
  private static String created(TestDriver files) {
    String name = "pvc-" + UUID.randomUUID();
    return Awaitility.await()
        .atMost(Duration.ofSeconds(90))
        .ignoreExceptionsMatching(StatusRuntimeException.class::isInstance)
        .until(() -> files.create(name, MIB), volume -> volume != null)
        .getVolumeId();
  }

  private List<ThrowingCallable> callsOf(Volume volume) {
    List<ThrowingCallable> calls = new ArrayList<>();
    calls.add(() -> driver.create("pvc-" + UUID.randomUUID(), 64 * MIB));
    calls.add(() -> driver.create(volume.getVolumeId(), 64 * MIB));
    calls.add(() -> driver.delete(volume.getVolumeId()));
    calls.add(() -> driver.expand(volume.getVolumeId(), 128 * MIB));
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
    String name = "pvc-" + UUID.randomUUID();
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
        .untilAsserted(
            () -> {
              driver.delete(volume.getVolumeId());
              Volume another = driver.create(name, 64 * MIB);
              driver.delete(another.getVolumeId());
            });
  }

  @Test
  void aClusterThatHangsGetsAnAnswerInTimeAndGoesOnWithoutARestart() {
    answersInTimeAndWorksAgain(cluster::pause, cluster::resume);
  }

  @Test
  void aClusterThatIsDownGetsAnAnswerInTimeAndGoesOnWithoutARestart() {
    answersInTimeAndWorksAgain(cluster::stop, cluster::restart);
  }

  /** librados waits for a manager without end. */
  @Test
  void aManagerThatHangsGetsAnAnswerInTimeAndTakesNoCapabilityAway() {
    try (TestDriver files =
        TestDriver.cephFs(cluster)
            .instance("hang")
            .timeout(OPERATION_TIMEOUT)
            .withCredentials()
            .start()) {
      String id = created(files);
      ControllerGetCapabilitiesResponse capabilities = capabilities(files);
      cluster.pause("mgr.x");
      try {
        List<CompletableFuture<StatusRuntimeException>> calls = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
          calls.add(
              CompletableFuture.supplyAsync(
                  () -> catchThrowableOfType(StatusRuntimeException.class, () -> look(files, id)),
                  task -> new Thread(task, "caller").start()));
        }
        assertThat(calls)
            .extracting(CompletableFuture::join)
            .allSatisfy(e -> assertThat(e.getStatus().getCode()).isEqualTo(Code.DEADLINE_EXCEEDED))
            .anySatisfy(e -> assertThat(e).hasMessageContaining("has no result after"));
        assertThat(capabilities(files)).isEqualTo(capabilities);
      } finally {
        cluster.resume("mgr.x");
      }
      Awaitility.await()
          .atMost(Duration.ofSeconds(90))
          .pollInterval(Duration.ofSeconds(1))
          .ignoreExceptionsMatching(StatusRuntimeException.class::isInstance)
          .untilAsserted(() -> files.delete(id));
    }
  }

  /** Else calls that wait for the manager would take all threads, which detaching needs, too. */
  @Test
  void aVolumeIsPublishedAndUnpublishedWhileTheManagerHangs() {
    try (TestDriver files =
        TestDriver.cephFs(cluster)
            .instance("published")
            .timeout(OPERATION_TIMEOUT)
            .withCredentials()
            .start()) {
      String id = created(files);
      Awaitility.await("the node is registered")
          .atMost(Duration.ofSeconds(90))
          .ignoreExceptionsMatching(StatusRuntimeException.class::isInstance)
          .until(() -> publish(files, id), answer -> answer != null);
      assertThat(unpublish(files, id)).isNotNull();
      cluster.freeze("mgr.x");
      try {
        assertThat(publish(files, id)).isNotNull();
        assertThat(publish(files, id)).isNotNull();
        assertThat(unpublish(files, id)).isNotNull();
      } finally {
        cluster.resume("mgr.x");
      }
      Awaitility.await()
          .atMost(Duration.ofSeconds(90))
          .pollInterval(Duration.ofSeconds(1))
          .ignoreExceptionsMatching(StatusRuntimeException.class::isInstance)
          .untilAsserted(() -> files.delete(id));
    }
  }

  private static ControllerPublishVolumeResponse publish(TestDriver files, String id) {
    return files
        .controller()
        .controllerPublishVolume(
            ControllerPublishVolumeRequest.newBuilder()
                .setVolumeId(id)
                .setNodeId(TestDriver.NODE_ID)
                .setVolumeCapability(TestDriver.singleWriter())
                .build());
  }

  private static ControllerUnpublishVolumeResponse unpublish(TestDriver files, String id) {
    return files
        .controller()
        .controllerUnpublishVolume(
            ControllerUnpublishVolumeRequest.newBuilder()
                .setVolumeId(id)
                .setNodeId(TestDriver.NODE_ID)
                .build());
  }

  /** Else the call would keep its volume and its thread for as long as the driver runs. */
  @Test
  void aCommandThatTheManagerDoesNotAnswerIsGivenUpAndItsVolumeIsFree() {
    Duration timeout = Duration.ofSeconds(2); // so it is given up after a minute
    try (TestDriver files =
        TestDriver.cephFs(cluster).instance("given-up").timeout(timeout).start()) {
      String id = created(files);
      cluster.pause("mgr.x");
      try {
        assertThat(inTime(() -> files.delete(id))).isEqualTo(Code.DEADLINE_EXCEEDED);
        assertThat(inTime(() -> files.delete(id))).isEqualTo(Code.ABORTED);
        Awaitility.await()
            .atMost(Duration.ofSeconds(150))
            .pollInterval(Duration.ofSeconds(1))
            .until(() -> inTime(() -> files.delete(id)), code -> code != Code.ABORTED);
      } finally {
        // As the monitors replace one that hung for so long: its client of CephFS may be evicted.
        cluster.resume("mgr.x");
        cluster.stop("mgr.x");
        cluster.restart("mgr.x");
      }
      Awaitility.await()
          .atMost(Duration.ofSeconds(120))
          .pollInterval(Duration.ofSeconds(1))
          .ignoreExceptionsMatching(StatusRuntimeException.class::isInstance)
          .untilAsserted(() -> files.delete(id));
    }
  }

  /** The manager uses a client that was blocklisted until it had no command for a while. */
  @Test
  void aManagerWhoseClientIsBlocklistedIsLeftAloneUntilItConnectsAnew() throws IOException {
    try (TestDriver files = TestDriver.cephFs(cluster).instance("evicted").start()) {
      String id = created(files);
      for (JsonNode session :
          Json.mapper().readTree(cluster.ceph("tell", "mds.a", "session", "ls"))) {
        cluster.ceph("tell", "mds.a", "client", "evict", "id=" + session.path("id").asLong());
      }
      List<String> answers = new ArrayList<>();
      Awaitility.await() // once more if it uses the client that it had after the first quiet time
          .atMost(Duration.ofMinutes(7))
          .pollInterval(Duration.ofSeconds(1))
          .untilAsserted(
              () -> {
                StatusRuntimeException refused =
                    catchThrowableOfType(
                        StatusRuntimeException.class, () -> files.expand(id, 2 * MIB));
                if (refused != null) {
                  answers.add(refused.getStatus().toString());
                }
                assertThat(refused).isNull();
              });
      assertThat(answers).anyMatch(said -> said.contains("gets no command for file system"));
      files.delete(id);
    }
  }

  private static ControllerGetVolumeResponse look(TestDriver driver, String id) {
    return driver
        .controller()
        .withDeadlineAfter(2 * IN_TIME.toSeconds(), TimeUnit.SECONDS)
        .controllerGetVolume(ControllerGetVolumeRequest.newBuilder().setVolumeId(id).build());
  }

  private static ControllerGetCapabilitiesResponse capabilities(TestDriver driver) {
    return driver
        .controller()
        .withDeadlineAfter(IN_TIME.toSeconds(), TimeUnit.SECONDS)
        .controllerGetCapabilities(ControllerGetCapabilitiesRequest.getDefaultInstance());
  }

  @Test
  void aDriverThatStartsWhileTheClusterIsAwayIsReadyOnceItIsBack() {
    cluster.pause();
    try (TestDriver early = TestDriver.rbd(cluster).timeout(OPERATION_TIMEOUT).start()) {
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

  /** An OSD that hangs while the trash of its pool is looked through, for longer than the test. */
  @Test
  void theTrashOfOneClusterIsEmptiedWhileAnotherHangs() throws IOException {
    TestCluster other = TestCluster.shared();
    Map<String, String> secrets = TestDriver.secrets(other, DriverConfig.Type.RBD);
    cluster.pause("osd.0");
    try (TestDriver patient =
        TestDriver.rbd(cluster).instance("patient").timeout(Duration.ofMinutes(10)).start()) {
      Files.writeString(
          patient.folder().resolve("config.json"),
          """
          [{"clusterID": "%s", "monitors": ["%s"]}, {"clusterID": "other", "monitors": ["%s"]}]
          """
              .formatted(TestDriver.CLUSTER_ID, cluster.monitors(), other.monitors()));
      CreateVolumeRequest hangs = patient.createRequest("pvc-hangs", 64 * MIB).build();
      assertThatThrownBy(
              () ->
                  patient.controller().withDeadlineAfter(10, TimeUnit.SECONDS).createVolume(hangs))
          .isInstanceOf(StatusRuntimeException.class);
      Volume volume =
          patient.create(
              patient
                  .createRequest("pvc-" + UUID.randomUUID(), 64 * MIB)
                  .putParameters("clusterID", "other")
                  .putAllSecrets(secrets));
      DeleteVolumeResponse deleted =
          patient
              .controller()
              .deleteVolume(
                  DeleteVolumeRequest.newBuilder()
                      .setVolumeId(volume.getVolumeId())
                      .putAllSecrets(secrets)
                      .build());
      assertThat(deleted).isNotNull();
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .untilAsserted(
              () ->
                  assertThat(other.rbd("trash", "ls", other.pool()))
                      .doesNotContain(TestDriver.image(volume)));
      cluster.resume("osd.0"); // so that the driver need not wait for it
    } finally {
      cluster.resume("osd.0");
    }
  }
}
