package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.ControllerModifyVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Topology;
import io.cephcsi.proto.csi.v1.TopologyRequirement;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
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
  private static final PoolState OTHER = new PoolState(CLUSTER, CLUSTER.otherPool());
  private static final ImageContent CONTENT = new ImageContent(CLUSTER);
  private static Path agent;

  @BeforeAll
  static void pack() throws IOException {
    agent = FaultyDriver.packAgent();
    // A process that was halted counts as a user of its images until its watch expires.
    CLUSTER.ceph("config", "set", "osd", "osd_client_watch_timeout", "10");
  }

  @AfterAll
  static void usualTimeout() {
    CLUSTER.ceph("config", "rm", "osd", "osd_client_watch_timeout");
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

  /**
   * What a call is tried with.
   *
   * @param clones whether the scene has clones
   * @param threads the prefix of the names of the threads whose writes are counted
   * @param offset of the sample, so that all calls together try many writes
   * @param prepare makes what the call needs besides
   * @param call the call
   * @param undo checks what the call made, and deletes it
   */
  private record Attempts(
      boolean clones,
      String threads,
      int offset,
      Consumer<Scene> prepare,
      Call call,
      Consumer<Scene> undo) {
    Attempts(boolean clones, String threads, int offset, Call call, Consumer<Scene> undo) {
      this(clones, threads, offset, scene -> {}, call, undo);
    }

    void survive() throws InterruptedException {
      for (String when : FULL ? new String[] {"before", "after"} : new String[] {"after"}) {
        int step = FULL ? 1 : SAMPLE;
        boolean halted = true;
        int write = 1 + offset % step;
        for (; halted && write < MAX_WRITES; write += step) {
          halted = attempt(when + "," + write + "," + threads);
        }
        assertThat(halted).as("the call ended before %d writes", MAX_WRITES).isFalse();
        System.out.printf(
            "%s: halted %s each of writes 1 to %d%n", threads, when, write - 1 - step);
      }
    }

    /** Halts the process at one write; false if the call has not so many. */
    private boolean attempt(String fault) throws InterruptedException {
      Set<String> objects = objects();
      boolean halted;
      Scene scene;
      try (TestDriver driver = TestDriver.startWithCredentials(CLUSTER, "default")) {
        scene = Scene.set(driver, clones);
        prepare.accept(scene);
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
      try (TestDriver restarted = TestDriver.startWithCredentials(CLUSTER, "default")) {
        Scene again = withDriver(scene, restarted);
        Object answer = call.send(again, restarted.controller());
        assertThat(call.send(again, restarted.controller())).as(fault).isEqualTo(answer);
        undo.accept(again);
        again.deleteAll();
        Awaitility.await(fault)
            .atMost(Duration.ofSeconds(100))
            .pollInterval(Duration.ofMillis(300))
            .untilAsserted(
                () -> {
                  assertThat(left(objects)).isEmpty();
                  assertThat(POOL.trash()).isEmpty();
                  assertThat(OTHER.trash()).isEmpty();
                });
        assertThat(POOL.keys("csi.volumes.default")).noneMatch(key -> key.contains(scene.name()));
        assertThat(POOL.keys("csi.snaps.default")).noneMatch(key -> key.contains(scene.name()));
      }
      return halted;
    }
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

  private static Set<String> objects() {
    Set<String> objects = new TreeSet<>();
    POOL.objects().forEach(object -> objects.add("rbd/" + object));
    OTHER.objects().forEach(object -> objects.add("rbd2/" + object));
    return objects;
  }

  private static Set<String> left(Set<String> before) {
    Set<String> left = objects();
    left.removeAll(before);
    return left;
  }

  private static void nothing(Scene scene) {
    // the call left nothing that the scene does not delete
  }

  @Test
  void createVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            0,
            (scene, controller) ->
                controller.createVolume(
                    scene.driver().createRequest(scene.name(), 16 * MIB).build()),
            scene -> scene.driver().delete(volume(scene.driver().create(scene.name(), 16 * MIB))))
        .survive();
  }

  private static String volume(Volume volume) {
    assertThat(POOL.info(TestDriver.image(volume)).path("size").asLong()).isEqualTo(16 * MIB);
    return volume.getVolumeId();
  }

  @Test
  void createSnapshot() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            1,
            (scene, controller) ->
                controller.createSnapshot(
                    scene
                        .driver()
                        .snapshotRequest(scene.name(), scene.volume().getVolumeId())
                        .build()),
            scene -> {
              Snapshot snapshot =
                  scene.driver().snapshot(scene.name(), scene.volume().getVolumeId());
              String image =
                  "csi-snap-"
                      + snapshot.getSnapshotId().substring(snapshot.getSnapshotId().length() - 36);
              scene.hasContent(image + "@" + image);
              scene.driver().deleteSnapshot(snapshot.getSnapshotId());
            })
        .survive();
  }

  @Test
  void createVolumeFromSnapshot() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            2,
            (scene, controller) ->
                controller.createVolume(
                    scene
                        .driver()
                        .restoreRequest(scene.name(), 20 * MIB, scene.snapshot().getSnapshotId())
                        .build()),
            scene -> {
              Volume restored =
                  scene.driver().restore(scene.name(), 20 * MIB, scene.snapshot().getSnapshotId());
              assertThat(POOL.info(TestDriver.image(restored)).path("size").asLong())
                  .isEqualTo(20 * MIB);
              scene.driver().delete(restored.getVolumeId());
            })
        .survive();
  }

  @Test
  void createVolumeFromVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            1,
            (scene, controller) ->
                controller.createVolume(
                    scene
                        .driver()
                        .cloneRequest(scene.name(), 0, scene.volume().getVolumeId())
                        .build()),
            scene -> {
              Volume copy = scene.driver().copy(scene.name(), 0, scene.volume().getVolumeId());
              scene.hasContent(TestDriver.image(copy));
              scene.driver().delete(copy.getVolumeId());
            })
        .survive();
  }

  @Test
  void controllerExpandVolume() throws InterruptedException {
    new Attempts(
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
            CrashIT::nothing)
        .survive();
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
    return deleteSnapshot(scene, controller, scene.snapshot().getSnapshotId());
  }

  private static Object deleteSnapshot(
      Scene scene, ControllerBlockingStub controller, String snapshotId) {
    return controller.deleteSnapshot(
        DeleteSnapshotRequest.newBuilder()
            .setSnapshotId(snapshotId)
            .putAllSecrets(scene.driver().secrets())
            .build());
  }

  @Test
  void deleteVolumeThatWasCloned() throws InterruptedException {
    new Attempts(
            true,
            "calls",
            1,
            (scene, controller) -> deleteVolume(scene, controller, scene.volume()),
            CrashIT::nothing)
        .survive();
  }

  @Test
  void deleteVolumeThatIsAClone() throws InterruptedException {
    new Attempts(
            true,
            "calls",
            2,
            (scene, controller) -> deleteVolume(scene, controller, scene.copied()),
            CrashIT::nothing)
        .survive();
  }

  @Test
  void deleteSnapshot() throws InterruptedException {
    new Attempts(false, "calls", 0, CrashIT::deleteSnapshot, CrashIT::nothing).survive();
  }

  @Test
  void theTrashIsEmptiedByTheNextDriver() throws InterruptedException {
    new Attempts(false, "trash", 0, CrashIT::deleteSnapshot, CrashIT::nothing).survive();
  }

  @Test
  void theTrashOfAVolumeWithAncestorsIsEmptiedByTheNextDriver() throws InterruptedException {
    new Attempts(
            true,
            "trash",
            0,
            scene -> {
              scene.driver().delete(scene.volume().getVolumeId());
              scene.driver().delete(scene.restored().getVolumeId());
            },
            (scene, controller) -> deleteVolume(scene, controller, scene.copied()),
            CrashIT::nothing)
        .survive();
  }

  private static ControllerPublishVolumeRequest publish(Scene scene) {
    return ControllerPublishVolumeRequest.newBuilder()
        .setVolumeId(scene.volume().getVolumeId())
        .setNodeId(TestDriver.NODE_ID)
        .setVolumeCapability(TestDriver.singleWriter())
        .putAllSecrets(scene.driver().secrets())
        .build();
  }

  private static ControllerUnpublishVolumeRequest unpublish(Scene scene) {
    return ControllerUnpublishVolumeRequest.newBuilder()
        .setVolumeId(scene.volume().getVolumeId())
        .setNodeId(TestDriver.NODE_ID)
        .putAllSecrets(scene.driver().secrets())
        .build();
  }

  private static List<String> nodes(Scene scene) {
    return scene
        .driver()
        .controller()
        .controllerGetVolume(
            ControllerGetVolumeRequest.newBuilder()
                .setVolumeId(scene.volume().getVolumeId())
                .build())
        .getStatus()
        .getPublishedNodeIdsList();
  }

  @Test
  void controllerPublishVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            0,
            (scene, controller) -> controller.controllerPublishVolume(publish(scene)),
            scene -> {
              assertThat(nodes(scene)).containsExactly(TestDriver.NODE_ID);
              assertThat(scene.driver().controller().controllerUnpublishVolume(unpublish(scene)))
                  .isNotNull();
            })
        .survive();
  }

  @Test
  void controllerUnpublishVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            0,
            scene ->
                assertThat(scene.driver().controller().controllerPublishVolume(publish(scene)))
                    .isNotNull(),
            (scene, controller) -> controller.controllerUnpublishVolume(unpublish(scene)),
            scene -> assertThat(nodes(scene)).isEmpty())
        .survive();
  }

  @Test
  void controllerModifyVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            1,
            (scene, controller) ->
                controller.controllerModifyVolume(
                    ControllerModifyVolumeRequest.newBuilder()
                        .setVolumeId(scene.volume().getVolumeId())
                        .putMutableParameters("qos.iopsLimit", "100")
                        .putMutableParameters("qos.bpsLimit", "1000000")
                        .putMutableParameters("qos.readIopsLimit", "50")
                        .putAllSecrets(scene.driver().secrets())
                        .build()),
            scene ->
                assertThat(
                        CLUSTER.rbd(
                            "image-meta", "list", "rbd/" + TestDriver.image(scene.volume())))
                    .contains("conf_rbd_qos_iops_limit", "conf_rbd_qos_bps_limit", "1000000"))
        .survive();
  }

  private static CreateVolumeRequest inOtherPool(Scene scene) {
    return scene
        .driver()
        .createRequest(scene.name(), 16 * MIB)
        .putParameters(
            "topologyConstrainedPools",
            "[{\"poolName\": \""
                + CLUSTER.otherPool()
                + "\", \"domainSegments\": [{\"domainLabel\": \"zone\", \"value\": \"b\"}]}]")
        .putMutableParameters("qos.iopsLimit", "100")
        .setAccessibilityRequirements(
            TopologyRequirement.newBuilder()
                .addRequisite(
                    Topology.newBuilder().putSegments("topology.rbd.csi.ceph.com/zone", "b")))
        .build();
  }

  @Test
  void createVolumeWithTopologyAndMutableParameters() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            2,
            (scene, controller) -> controller.createVolume(inOtherPool(scene)),
            scene -> {
              Volume volume =
                  scene.driver().controller().createVolume(inOtherPool(scene)).getVolume();
              assertThat(
                      CLUSTER.rbd(
                          "image-meta",
                          "list",
                          CLUSTER.otherPool() + "/" + TestDriver.image(volume)))
                  .contains("conf_rbd_qos_iops_limit");
              scene.driver().delete(volume.getVolumeId());
            })
        .survive();
  }

  @Test
  void deleteVolumeWithTheJournalInAnotherPool() throws InterruptedException {
    Map<String, Volume> made = new HashMap<>();
    new Attempts(
            false,
            "calls",
            0,
            scene ->
                made.put(
                    scene.name(),
                    scene.driver().controller().createVolume(inOtherPool(scene)).getVolume()),
            (scene, controller) -> deleteVolume(scene, controller, made.get(scene.name())),
            CrashIT::nothing)
        .survive();
  }

  private static CreateSnapshotRequest nativeSnapshot(Scene scene) {
    return scene
        .driver()
        .snapshotRequest(scene.name(), scene.volume().getVolumeId())
        .putParameters("snapshotMode", "native")
        .build();
  }

  private static Snapshot takeNative(Scene scene) {
    return scene.driver().controller().createSnapshot(nativeSnapshot(scene)).getSnapshot();
  }

  private static void restoreAndDelete(Scene scene, String snapshotId) {
    Volume restored = scene.driver().restore(scene.name(), 20 * MIB, snapshotId);
    assertThat(POOL.info(TestDriver.image(restored)).path("size").asLong()).isEqualTo(20 * MIB);
    scene.driver().delete(restored.getVolumeId());
    scene.driver().deleteSnapshot(snapshotId);
  }

  @Test
  void createNativeSnapshot() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            0,
            (scene, controller) -> controller.createSnapshot(nativeSnapshot(scene)),
            scene -> {
              String id = takeNative(scene).getSnapshotId();
              Volume restored = scene.driver().restore(scene.name(), 0, id);
              scene.hasContent(TestDriver.image(restored));
              scene.driver().delete(restored.getVolumeId());
              scene.driver().deleteSnapshot(id);
            })
        .survive();
  }

  @Test
  void deleteNativeSnapshot() throws InterruptedException {
    Map<String, String> taken = new HashMap<>();
    new Attempts(
            false,
            "calls",
            0,
            scene -> taken.put(scene.name(), takeNative(scene).getSnapshotId()),
            (scene, controller) ->
                deleteSnapshot(scene, controller, taken.getOrDefault(scene.name(), "")),
            CrashIT::nothing)
        .survive();
  }

  @Test
  void deleteNativeSnapshotOfADeletedVolume() throws InterruptedException {
    Map<String, String> taken = new HashMap<>();
    new Attempts(
            false,
            "calls",
            1,
            scene -> {
              taken.put(scene.name(), takeNative(scene).getSnapshotId());
              scene.driver().delete(scene.volume().getVolumeId());
            },
            (scene, controller) ->
                deleteSnapshot(scene, controller, taken.getOrDefault(scene.name(), "")),
            CrashIT::nothing)
        .survive();
  }

  @Test
  void createVolumeFromNativeSnapshot() throws InterruptedException {
    fromNative(0, scene -> {});
  }

  @Test
  void createVolumeFromNativeSnapshotOfADeletedVolume() throws InterruptedException {
    fromNative(2, scene -> scene.driver().delete(scene.volume().getVolumeId()));
  }

  private static void fromNative(int offset, Consumer<Scene> before) throws InterruptedException {
    Map<String, String> taken = new HashMap<>();
    new Attempts(
            false,
            "calls",
            offset,
            scene -> {
              taken.put(scene.name(), takeNative(scene).getSnapshotId());
              before.accept(scene);
            },
            (scene, controller) ->
                controller.createVolume(
                    scene
                        .driver()
                        .restoreRequest(
                            scene.name(), 20 * MIB, taken.getOrDefault(scene.name(), ""))
                        .build()),
            scene -> restoreAndDelete(scene, taken.getOrDefault(scene.name(), "")))
        .survive();
  }

  @Test
  void deleteVolumeWithANativeSnapshot() throws InterruptedException {
    Map<String, String> taken = new HashMap<>();
    new Attempts(
            false,
            "calls",
            0,
            scene -> taken.put(scene.name(), takeNative(scene).getSnapshotId()),
            (scene, controller) -> deleteVolume(scene, controller, scene.volume()),
            scene -> restoreAndDelete(scene, taken.getOrDefault(scene.name(), "")))
        .survive();
  }

  @Test
  void theTrashThatKeptAVolumeForItsSnapshotIsEmptiedByTheNextDriver() throws InterruptedException {
    Map<String, String> taken = new HashMap<>();
    new Attempts(
            false,
            "trash",
            0,
            scene -> {
              taken.put(scene.name(), takeNative(scene).getSnapshotId());
              scene.driver().delete(scene.volume().getVolumeId());
            },
            (scene, controller) ->
                deleteSnapshot(scene, controller, taken.getOrDefault(scene.name(), "")),
            CrashIT::nothing)
        .survive();
  }
}
