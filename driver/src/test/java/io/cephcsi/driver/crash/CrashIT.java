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
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/**
 * The driver's process is halted at every write of every call that writes; then another driver
 * repeats the call and deletes everything. {@code CEPH_CSI_TEST_CAMPAIGN=full} tries every write,
 * before and after it; else a sample.
 */
class CrashIT extends CrashCase {
  private static final long MIB = 1L << 20;
  private static final int SAMPLE = 12;
  private static final int MAX_WRITES = 60;
  private static final PoolState OTHER = new PoolState(CLUSTER, CLUSTER.otherPool());
  private static final ImageContent CONTENT = new ImageContent(CLUSTER);

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
          .atMost(PoolState.MANAGER_TIME)
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
   * @param between what happens after the process was halted, before the call is repeated
   * @param call the call
   * @param undo checks what the call made, and deletes it
   */
  private record Attempts(
      boolean clones,
      String threads,
      int offset,
      Consumer<Scene> prepare,
      Consumer<Scene> between,
      Call call,
      Consumer<Scene> undo) {
    Attempts(boolean clones, String threads, int offset, Call call, Consumer<Scene> undo) {
      this(clones, threads, offset, scene -> {}, call, undo);
    }

    Attempts(
        boolean clones,
        String threads,
        int offset,
        Consumer<Scene> prepare,
        Call call,
        Consumer<Scene> undo) {
      this(clones, threads, offset, prepare, scene -> {}, call, undo);
    }

    Attempts between(Consumer<Scene> work) {
      return new Attempts(clones, threads, offset, prepare, work, call, undo);
    }

    /** As {@link #survive}; the sample is these writes. */
    void surviveAt(int... writes) throws InterruptedException {
      if (FULL) {
        survive();
        return;
      }
      for (int write : writes) {
        assertThat(attempt("after," + write + "," + threads)).as("write %d", write).isTrue();
      }
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
      try (TestDriver driver = TestDriver.rbd(CLUSTER).withCredentials().start()) {
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
      try (TestDriver restarted = TestDriver.rbd(CLUSTER).withCredentials().start()) {
        Scene again = withDriver(scene, restarted);
        between.accept(again);
        Object answer = call.send(again, restarted.controller());
        assertThat(call.send(again, restarted.controller())).as(fault).isEqualTo(answer);
        undo.accept(again);
        again.deleteAll();
        Awaitility.await(fault)
            .atMost(PoolState.MANAGER_TIME)
            .pollInterval(Duration.ofMillis(300))
            .untilAsserted(() -> assertThat(left(objects)).isEmpty());
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
    POOL.everything().forEach(object -> objects.add("rbd/" + object));
    OTHER.everything().forEach(object -> objects.add("rbd2/" + object));
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
            (scene, controller) -> controller.createSnapshot(imageSnapshot(scene)),
            scene -> {
              Snapshot snapshot =
                  scene.driver().snapshot(scene.name(), scene.volume().getVolumeId());
              String image = image(snapshot);
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
  void theNextDriverPurgesAVolumeThatTheTrashKeptForASnapshot() throws InterruptedException {
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

  // What happens between the halt and the repetition

  private static long size(String image) {
    return POOL.info(image).path("size").asLong();
  }

  private static void expandSource(Scene scene, long bytes) {
    assertThat(
            scene
                .driver()
                .controller()
                .controllerExpandVolume(
                    ControllerExpandVolumeRequest.newBuilder()
                        .setVolumeId(scene.volume().getVolumeId())
                        .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(bytes))
                        .putAllSecrets(scene.driver().secrets())
                        .build())
                .getCapacityBytes())
        .isEqualTo(bytes);
  }

  private static CreateSnapshotRequest imageSnapshot(Scene scene) {
    return scene.driver().snapshotRequest(scene.name(), scene.volume().getVolumeId()).build();
  }

  private static String image(Snapshot snapshot) {
    String id = snapshot.getSnapshotId();
    return "csi-snap-" + id.substring(id.length() - 36);
  }

  private static Instant time(Snapshot snapshot) {
    return Instant.ofEpochSecond(
        snapshot.getCreationTime().getSeconds(), snapshot.getCreationTime().getNanos());
  }

  /** A snapshot shows what was written before the time that it says of itself, and no more. */
  @Test
  void createSnapshotOfAVolumeThatIsWrittenMeanwhile() throws InterruptedException {
    Map<String, Instant> written = new HashMap<>();
    new Attempts(
            false,
            "calls",
            2,
            (scene, controller) -> controller.createSnapshot(imageSnapshot(scene)),
            scene -> {
              Snapshot snapshot =
                  scene.driver().snapshot(scene.name(), scene.volume().getVolumeId());
              String image = image(snapshot);
              if (time(snapshot).isAfter(written.get(scene.name()))) {
                int now = CONTENT.checksum("rbd/" + TestDriver.image(scene.volume()));
                assertThat(CONTENT.checksum("rbd/" + image + "@" + image)).isEqualTo(now);
              } else {
                scene.hasContent(image + "@" + image);
              }
              scene.driver().deleteSnapshot(snapshot.getSnapshotId());
            })
        .between(
            scene -> {
              CONTENT.write("rbd/" + TestDriver.image(scene.volume()), 6);
              written.put(scene.name(), Instant.now());
            })
        .surviveAt(3);
  }

  /** A clone is as large as the answer says, whenever its source grew. */
  @Test
  void createVolumeFromAVolumeThatGrowsMeanwhile() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            2,
            (scene, controller) ->
                controller.createVolume(
                    scene
                        .driver()
                        .cloneRequest(scene.name(), 0, scene.volume().getVolumeId())
                        .build()),
            scene -> {
              Volume copy = scene.driver().copy(scene.name(), 0, scene.volume().getVolumeId());
              assertThat(size(TestDriver.image(copy))).isEqualTo(copy.getCapacityBytes());
              scene.driver().delete(copy.getVolumeId());
            })
        .between(scene -> expandSource(scene, 32 * MIB))
        .surviveAt(3);
  }

  /** A repetition that asks for something else gets that, and nothing is left of the first. */
  @Test
  void createVolumeWithoutSourceAndLargerAfterItWasToBeAClone() throws InterruptedException {
    Map<String, Boolean> repeated = new HashMap<>();
    new Attempts(
            false,
            "calls",
            0,
            (scene, controller) ->
                repeated.containsKey(scene.name())
                    ? codeOr(
                        Code.ALREADY_EXISTS,
                        () -> scene.driver().create(scene.name(), 32 * MIB).getCapacityBytes())
                    : controller.createVolume(
                        scene
                            .driver()
                            .cloneRequest(scene.name(), 0, scene.volume().getVolumeId())
                            .build()),
            scene -> deleteByName(scene, 32 * MIB))
        .between(scene -> repeated.put(scene.name(), true))
        .surviveAt(7);
  }

  /** The answer, or the code of the error, if it is this one. */
  private static Object codeOr(Code expected, Supplier<Object> call) {
    try {
      return call.get();
    } catch (StatusRuntimeException e) {
      if (e.getStatus().getCode() != expected) {
        throw e;
      }
      return expected;
    }
  }

  /** Deletes the volume of the name, if the halted call made it, or that of the repetition. */
  private static void deleteByName(Scene scene, long bytes) {
    Object answer = codeOr(Code.ALREADY_EXISTS, () -> scene.driver().create(scene.name(), bytes));
    Volume volume =
        answer instanceof Volume made
            ? made
            : scene.driver().copy(scene.name(), 0, scene.volume().getVolumeId());
    assertThat(size(TestDriver.image(volume))).isEqualTo(volume.getCapacityBytes());
    scene.driver().delete(volume.getVolumeId());
  }

  @Test
  void createVolumeOfAnotherSize() throws InterruptedException {
    Map<String, Boolean> repeated = new HashMap<>();
    new Attempts(
            false,
            "calls",
            0,
            (scene, controller) ->
                repeated.containsKey(scene.name())
                    ? codeOr(
                        Code.ALREADY_EXISTS,
                        () -> scene.driver().create(scene.name(), 32 * MIB).getCapacityBytes())
                    : controller.createVolume(
                        scene.driver().createRequest(scene.name(), 16 * MIB).build()),
            scene -> {
              Object answer =
                  codeOr(Code.ALREADY_EXISTS, () -> scene.driver().create(scene.name(), 32 * MIB));
              Volume volume =
                  answer instanceof Volume made
                      ? made
                      : scene.driver().create(scene.name(), 16 * MIB);
              assertThat(size(TestDriver.image(volume))).isEqualTo(volume.getCapacityBytes());
              scene.driver().delete(volume.getVolumeId());
            })
        .between(scene -> repeated.put(scene.name(), true))
        .surviveAt(5);
  }

  @Test
  void createSnapshotOfAVolumeThatIsDeletedMeanwhile() throws InterruptedException {
    ofDeleted(1, Map.of(), 5);
  }

  @Test
  void createNativeSnapshotOfAVolumeThatIsDeletedMeanwhile() throws InterruptedException {
    ofDeleted(0, Map.of("snapshotMode", "native"), 3);
  }

  private static void ofDeleted(int offset, Map<String, String> parameters, int... writes)
      throws InterruptedException {
    new Attempts(
            false,
            "calls",
            offset,
            (scene, controller) ->
                codeOr(
                    Code.NOT_FOUND,
                    () ->
                        controller.createSnapshot(
                            scene
                                .driver()
                                .snapshotRequest(scene.name(), scene.volume().getVolumeId())
                                .putAllParameters(parameters)
                                .build())),
            scene -> {
              Object answer =
                  codeOr(
                      Code.NOT_FOUND,
                      () -> scene.driver().snapshot(scene.name(), scene.volume().getVolumeId()));
              if (answer instanceof Snapshot snapshot) {
                Volume restored = scene.driver().restore(scene.name(), 0, snapshot.getSnapshotId());
                scene.hasContent(TestDriver.image(restored));
                scene.driver().delete(restored.getVolumeId());
                scene.driver().deleteSnapshot(snapshot.getSnapshotId());
              }
            })
        .between(
            scene -> Scene.whenUnused(() -> scene.driver().delete(scene.volume().getVolumeId())))
        .surviveAt(writes);
  }

  /** The name gets a new volume, which the deletion of the old one does not touch. */
  @Test
  void createVolumeOfTheNameOfOneWhoseDeletionWasHalted() throws InterruptedException {
    Map<String, Volume> old = new HashMap<>();
    Map<String, Volume> fresh = new HashMap<>();
    new Attempts(
            false,
            "calls",
            0,
            scene -> old.put(scene.name(), scene.driver().create(scene.name(), 16 * MIB)),
            (scene, controller) -> deleteVolume(scene, controller, old.get(scene.name())),
            scene -> {
              Volume volume = scene.driver().create(scene.name(), 16 * MIB);
              if (!fresh.get(scene.name()).equals(old.get(scene.name()))) {
                assertThat(volume).isEqualTo(fresh.get(scene.name()));
              }
              publishAndTakeBack(scene, volume);
              scene.driver().delete(volume.getVolumeId());
            })
        .between(
            scene -> {
              Volume volume = scene.driver().create(scene.name(), 16 * MIB);
              publishAndTakeBack(scene, volume);
              fresh.put(scene.name(), volume);
            })
        .surviveAt(1, 4);
  }

  private static void publishAndTakeBack(Scene scene, Volume volume) {
    ControllerPublishVolumeRequest publish =
        publish(scene).toBuilder().setVolumeId(volume.getVolumeId()).build();
    assertThat(scene.driver().controller().controllerPublishVolume(publish)).isNotNull();
    ControllerUnpublishVolumeRequest unpublish =
        unpublish(scene).toBuilder().setVolumeId(volume.getVolumeId()).build();
    assertThat(scene.driver().controller().controllerUnpublishVolume(unpublish)).isNotNull();
  }

  @Test
  void createSnapshotOfTheNameOfOneWhoseDeletionWasHalted() throws InterruptedException {
    renewed(1, Map.of(), 3);
  }

  @Test
  void createNativeSnapshotOfTheNameOfOneWhoseDeletionWasHalted() throws InterruptedException {
    renewed(0, Map.of("snapshotMode", "native"), 1);
  }

  private static void renewed(int offset, Map<String, String> parameters, int... writes)
      throws InterruptedException {
    Map<String, Snapshot> old = new HashMap<>();
    Map<String, Snapshot> fresh = new HashMap<>();
    Function<Scene, Snapshot> take =
        scene ->
            scene
                .driver()
                .controller()
                .createSnapshot(
                    scene
                        .driver()
                        .snapshotRequest(scene.name(), scene.volume().getVolumeId())
                        .putAllParameters(parameters)
                        .build())
                .getSnapshot();
    new Attempts(
            false,
            "calls",
            offset,
            scene -> old.put(scene.name(), take.apply(scene)),
            (scene, controller) ->
                deleteSnapshot(scene, controller, old.get(scene.name()).getSnapshotId()),
            scene -> {
              Snapshot snapshot = take.apply(scene);
              if (!fresh.get(scene.name()).equals(old.get(scene.name()))) {
                assertThat(snapshot).isEqualTo(fresh.get(scene.name()));
              }
              scene.driver().deleteSnapshot(snapshot.getSnapshotId());
            })
        .between(scene -> fresh.put(scene.name(), take.apply(scene)))
        .surviveAt(writes);
  }
}
