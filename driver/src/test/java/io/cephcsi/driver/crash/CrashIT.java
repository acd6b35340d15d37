package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Function;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The driver's process is halted at every write of every call that writes; then another driver
 * repeats the call and deletes everything. {@code CEPH_CSI_TEST_CAMPAIGN=full} tries every write,
 * before and after it; else a sample.
 */
class CrashIT {
  private static final long MIB = 1L << 20;
  private static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
  private static final int SAMPLE = 6;
  private static final int MAX_WRITES = 60;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");
  private static final ImageContent CONTENT = new ImageContent(CLUSTER);
  private static Path agent;

  @BeforeAll
  static void pack() throws IOException {
    agent = FaultyDriver.packAgent();
  }

  /** What every attempt finds: a volume with content, a snapshot of it, and clones of both. */
  private record Scene(
      TestDriver driver,
      String name,
      Volume volume,
      Snapshot snapshot,
      Volume restored,
      Volume copied,
      int content) {
    static Scene set(TestDriver driver, boolean clones) {
      String name = "pvc-" + UUID.randomUUID();
      Volume volume = driver.create(name + "-source", 16 * MIB);
      CONTENT.write("rbd/" + TestDriver.image(volume), 5);
      Snapshot snapshot = driver.snapshot(name + "-source", volume.getVolumeId());
      return new Scene(
          driver,
          name,
          volume,
          snapshot,
          clones ? driver.restore(name + "-r", 0, snapshot.getSnapshotId()) : volume,
          clones ? driver.copy(name + "-c", 0, volume.getVolumeId()) : volume,
          CONTENT.checksum("rbd/" + TestDriver.image(volume)));
    }

    void hasContent(String image) {
      assertThat(CONTENT.checksum("rbd/" + image)).isEqualTo(content);
    }

    void deleteAll() {
      whenUnused(() -> driver.delete(restored.getVolumeId()));
      whenUnused(() -> driver.delete(copied.getVolumeId()));
      whenUnused(() -> driver.deleteSnapshot(snapshot.getSnapshotId()));
      whenUnused(() -> driver.delete(volume.getVolumeId()));
    }

    /** A process that was halted counts as a user of its images until its watch expires. */
    private static void whenUnused(Runnable delete) {
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .ignoreExceptionsMatching(
              e ->
                  e instanceof StatusRuntimeException status
                      && status.getStatus().getCode() == Code.FAILED_PRECONDITION)
          .until(
              () -> {
                delete.run();
                return true;
              });
    }
  }

  /** A call under test. */
  private interface Call {
    Object send(Scene scene, ControllerBlockingStub controller);
  }

  private static void survives(
      boolean clones, String threads, int offset, Call call, Function<Scene, Runnable> undo)
      throws InterruptedException {
    for (String when : FULL ? new String[] {"before", "after"} : new String[] {"after"}) {
      int step = FULL ? 1 : SAMPLE;
      boolean halted = true;
      for (int write = 1 + offset % step; halted && write < MAX_WRITES; write += step) {
        halted = attempt(clones, when + "," + write + "," + threads, call, undo);
      }
      assertThat(halted).as("the call ended before %d writes", MAX_WRITES).isFalse();
    }
  }

  /** Halts the process at one write; false if the call has not so many. */
  private static boolean attempt(
      boolean clones, String fault, Call call, Function<Scene, Runnable> undo)
      throws InterruptedException {
    Set<String> objects = POOL.objects();
    boolean halted;
    Scene scene;
    try (TestDriver driver = TestDriver.start(CLUSTER)) {
      scene = Scene.set(driver, clones);
    }
    try (FaultyDriver faulty = FaultyDriver.start(CLUSTER, agent, fault)) {
      boolean answered;
      try {
        call.send(scene, faulty.controller());
        answered = true;
      } catch (StatusRuntimeException e) {
        assertThat(e.getStatus().getCode()).as(fault).isEqualTo(Code.UNAVAILABLE);
        answered = false;
      }
      boolean background = !fault.endsWith("calls");
      halted = faulty.halted(answered && !background ? Duration.ZERO : Duration.ofSeconds(3));
      assertThat(halted || answered).as(fault).isTrue();
    }
    try (TestDriver restarted = TestDriver.start(CLUSTER)) {
      Scene again = withDriver(scene, restarted);
      Object answer = call.send(again, restarted.controller());
      assertThat(call.send(again, restarted.controller())).as(fault).isEqualTo(answer);
      undo.apply(again).run();
      again.deleteAll();
      Awaitility.await(fault)
          .atMost(Duration.ofSeconds(100))
          .pollInterval(Duration.ofMillis(300))
          .untilAsserted(() -> assertThat(left(objects)).isEmpty());
      assertThat(POOL.keys("csi.volumes.default")).noneMatch(key -> key.contains(scene.name()));
      assertThat(POOL.keys("csi.snaps.default")).noneMatch(key -> key.contains(scene.name()));
      assertThat(POOL.trash()).isEmpty();
    }
    return halted;
  }

  private static Scene withDriver(Scene scene, TestDriver driver) {
    return new Scene(
        driver,
        scene.name(),
        scene.volume(),
        scene.snapshot(),
        scene.restored(),
        scene.copied(),
        scene.content());
  }

  private static Set<String> left(Set<String> before) {
    Set<String> left = new TreeSet<>(POOL.objects());
    left.removeAll(before);
    return left;
  }

  private static Runnable nothing(Scene scene) {
    return () -> {};
  }

  @Test
  void createVolume() throws InterruptedException {
    survives(
        false,
        "calls",
        0,
        (scene, controller) ->
            controller.createVolume(scene.driver().createRequest(scene.name(), 16 * MIB).build()),
        scene ->
            () -> scene.driver().delete(volume(scene.driver().create(scene.name(), 16 * MIB))));
  }

  private static String volume(Volume volume) {
    assertThat(POOL.info(TestDriver.image(volume)).path("size").asLong()).isEqualTo(16 * MIB);
    return volume.getVolumeId();
  }

  @Test
  void createSnapshot() throws InterruptedException {
    survives(
        false,
        "calls",
        1,
        (scene, controller) ->
            controller.createSnapshot(
                scene.driver().snapshotRequest(scene.name(), scene.volume().getVolumeId()).build()),
        scene ->
            () -> {
              Snapshot snapshot =
                  scene.driver().snapshot(scene.name(), scene.volume().getVolumeId());
              String image =
                  "csi-snap-"
                      + snapshot.getSnapshotId().substring(snapshot.getSnapshotId().length() - 36);
              scene.hasContent(image + "@" + image);
              scene.driver().deleteSnapshot(snapshot.getSnapshotId());
            });
  }

  @Test
  void createVolumeFromSnapshot() throws InterruptedException {
    survives(
        false,
        "calls",
        2,
        (scene, controller) ->
            controller.createVolume(
                scene
                    .driver()
                    .restoreRequest(scene.name(), 20 * MIB, scene.snapshot().getSnapshotId())
                    .build()),
        scene ->
            () -> {
              Volume restored =
                  scene.driver().restore(scene.name(), 20 * MIB, scene.snapshot().getSnapshotId());
              assertThat(POOL.info(TestDriver.image(restored)).path("size").asLong())
                  .isEqualTo(20 * MIB);
              scene.driver().delete(restored.getVolumeId());
            });
  }

  @Test
  void createVolumeFromVolume() throws InterruptedException {
    survives(
        false,
        "calls",
        1,
        (scene, controller) ->
            controller.createVolume(
                scene.driver().cloneRequest(scene.name(), 0, scene.volume().getVolumeId()).build()),
        scene ->
            () -> {
              Volume copy = scene.driver().copy(scene.name(), 0, scene.volume().getVolumeId());
              scene.hasContent(TestDriver.image(copy));
              scene.driver().delete(copy.getVolumeId());
            });
  }

  @Test
  void controllerExpandVolume() throws InterruptedException {
    survives(
        false,
        "calls",
        0,
        (scene, controller) ->
            controller.controllerExpandVolume(
                ControllerExpandVolumeRequest.newBuilder()
                    .setVolumeId(scene.volume().getVolumeId())
                    .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(32 * MIB))
                    .putAllSecrets(scene.driver().secrets())
                    .build()),
        CrashIT::nothing);
  }

  private static Object deleteVolume(
      Scene scene, ControllerBlockingStub controller, Volume volume) {
    return controller.deleteVolume(
        DeleteVolumeRequest.newBuilder()
            .setVolumeId(volume.getVolumeId())
            .putAllSecrets(scene.driver().secrets())
            .build());
  }

  private static Object deleteSnapshot(Scene scene, ControllerBlockingStub controller) {
    return controller.deleteSnapshot(
        DeleteSnapshotRequest.newBuilder()
            .setSnapshotId(scene.snapshot().getSnapshotId())
            .putAllSecrets(scene.driver().secrets())
            .build());
  }

  @Test
  void deleteVolumeThatWasCloned() throws InterruptedException {
    survives(
        true,
        "calls",
        1,
        (scene, controller) -> deleteVolume(scene, controller, scene.volume()),
        CrashIT::nothing);
  }

  @Test
  void deleteVolumeThatIsAClone() throws InterruptedException {
    survives(
        true,
        "calls",
        2,
        (scene, controller) -> deleteVolume(scene, controller, scene.copied()),
        CrashIT::nothing);
  }

  @Test
  void deleteSnapshot() throws InterruptedException {
    survives(false, "calls", 0, CrashIT::deleteSnapshot, CrashIT::nothing);
  }

  @Test
  void theTrashIsEmptiedByTheNextDriver() throws InterruptedException {
    survives(false, "trash", 0, CrashIT::deleteSnapshot, CrashIT::nothing);
  }
}
