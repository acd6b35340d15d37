package io.cephcsi.driver.crash;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static io.cephcsi.driver.testing.Statuses.untilNotAborted;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.tracker.RemoveResult;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * The process of a CephFS driver is halted at the writes and manager's commands of each call; then
 * another driver repeats the call and deletes everything. {@code CEPH_CSI_TEST_CAMPAIGN=full} tries
 * every one, before and after it; else a sample.
 */
class CephFsCrashIT extends CephFsCrashCase {
  private static final int SAMPLE = 8; // a killed client of the MDS holds up the manager for 30 s
  private static final int MAX_WRITES = 40;

  /** What every attempt finds: a volume, a snapshot of it, and a volume that shows that. */
  private record Scene(String name, Volume source, Snapshot snapshot, Volume shallow) {
    static Scene set() {
      String name = "pvc-" + UUID.randomUUID();
      Volume source = driver.create(name + "-source", 16 * MIB);
      Snapshot snapshot = driver.snapshot(name + "-source", source.getVolumeId());
      return new Scene(
          name, source, snapshot, driver.show(name + "-shallow", snapshot.getSnapshotId()));
    }

    void deleteAll() {
      driver.delete(shallow.getVolumeId());
      driver.deleteSnapshot(snapshot.getSnapshotId());
      driver.delete(source.getVolumeId());
    }

    /** Whether the snapshot is where the context of the shallow volume says. */
    boolean isShown() {
      String root = shallow.getVolumeContextMap().get("subvolumePath").replaceAll("/$", "");
      String id = snapshot.getSnapshotId();
      String name = "csi-snap-" + id.substring(id.length() - 36);
      return STATE.mounted(mount -> mount.snapshots(root).exists(name));
    }
  }

  /** A call under test. */
  private interface Call {
    void send(Scene scene, ControllerBlockingStub controller);
  }

  private static void survives(int offset, Call call, Consumer<Scene> repeat)
      throws InterruptedException {
    for (String when : FULL ? new String[] {"before", "after"} : new String[] {"after"}) {
      int step = FULL ? 1 : SAMPLE;
      boolean halted = true;
      for (int write = 1 + offset % step; halted && write < MAX_WRITES; write += step) {
        halted = attempt(when + "," + write + ",calls", call, repeat);
      }
      assertThat(halted).as("the call ended before %d writes", MAX_WRITES).isFalse();
    }
  }

  private static boolean attempt(String fault, Call call, Consumer<Scene> repeat)
      throws InterruptedException {
    Scene scene = Scene.set();
    boolean halted;
    try (FaultyDriver faulty = FaultyDriver.start("cephfs", CLUSTER, fault)) {
      boolean answered = true;
      try {
        call.send(scene, faulty.controller());
      } catch (StatusRuntimeException e) {
        answered = e.getStatus().getCode() == Code.ABORTED; // a copy has begun
        assertThat(e.getStatus().getCode()).as(fault).isIn(Code.UNAVAILABLE, Code.ABORTED);
      }
      halted = faulty.halted(FaultyDriver.ending(answered));
      assertThat(halted || answered).as(fault).isTrue();
    }
    repeat.accept(scene);
    scene.deleteAll();
    assertThat(STATE.leftovers()).as(fault).isEmpty();
    return halted;
  }

  private static Volume await(CreateVolumeRequest request) {
    return untilNotAborted(
        Duration.ofMinutes(2), () -> driver.controller().createVolume(request).getVolume());
  }

  private static void createVolume(
      int offset, java.util.function.Function<Scene, CreateVolumeRequest> request)
      throws InterruptedException {
    survives(
        offset,
        (scene, controller) ->
            assertThat(controller.createVolume(request.apply(scene))).isNotNull(),
        scene -> {
          Volume volume = await(request.apply(scene));
          assertThat(await(request.apply(scene))).isEqualTo(volume);
          driver.delete(volume.getVolumeId());
        });
  }

  @Test
  void createVolume() throws InterruptedException {
    createVolume(0, scene -> driver.createRequest(scene.name(), 16 * MIB).build());
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "CEPH_CSI_TEST_CAMPAIGN", matches = "full") // a minute
  void createVolumeFromSnapshot() throws InterruptedException {
    createVolume(
        2,
        scene ->
            driver
                .restoreRequest(scene.name(), 20 * MIB, scene.snapshot().getSnapshotId())
                .build());
  }

  @Test
  void createVolumeFromVolume() throws InterruptedException {
    createVolume(
        3, scene -> driver.cloneRequest(scene.name(), 0, scene.source().getVolumeId()).build());
  }

  @Test
  void createShallowVolumeFromSnapshot() throws InterruptedException {
    createVolume(
        1, scene -> driver.showRequest(scene.name(), scene.snapshot().getSnapshotId()).build());
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "CEPH_CSI_TEST_CAMPAIGN", matches = "full") // a minute
  void createShallowVolumeFromAnother() throws InterruptedException {
    createVolume(
        2,
        scene ->
            driver
                .cloneRequest(scene.name(), 0, scene.shallow().getVolumeId())
                .clearVolumeCapabilities()
                .addVolumeCapabilities(TestDriver.onlyReader())
                .build());
  }

  @Test
  void createSnapshot() throws InterruptedException {
    survives(
        1,
        (scene, controller) ->
            assertThat(
                    controller.createSnapshot(
                        driver.snapshotRequest(scene.name(), scene.source().getVolumeId()).build()))
                .isNotNull(),
        scene -> {
          Snapshot snapshot = driver.snapshot(scene.name(), scene.source().getVolumeId());
          assertThat(snapshot.getSizeBytes()).isEqualTo(16 * MIB);
          driver.deleteSnapshot(snapshot.getSnapshotId());
        });
  }

  private static void deleteVolume(ControllerBlockingStub controller, Volume volume) {
    assertThat(
            controller.deleteVolume(
                DeleteVolumeRequest.newBuilder()
                    .setVolumeId(volume.getVolumeId())
                    .putAllSecrets(driver.secrets())
                    .build()))
        .isNotNull();
  }

  private static void deleteSnapshot(ControllerBlockingStub controller, Scene scene) {
    assertThat(
            controller.deleteSnapshot(
                DeleteSnapshotRequest.newBuilder()
                    .setSnapshotId(scene.snapshot().getSnapshotId())
                    .putAllSecrets(driver.secrets())
                    .build()))
        .isNotNull();
  }

  @Test
  void deleteSnapshotThatIsShown() throws InterruptedException {
    survives(
        0,
        (scene, controller) -> deleteSnapshot(controller, scene),
        scene -> {
          driver.deleteSnapshot(scene.snapshot().getSnapshotId());
          assertThat(scene.isShown()).isTrue();
        });
  }

  @Test
  void deleteTheLastReference() throws InterruptedException {
    survives(
        0,
        (scene, controller) -> {
          driver.deleteSnapshot(scene.snapshot().getSnapshotId());
          deleteVolume(controller, scene.shallow());
        },
        scene -> {
          driver.delete(scene.shallow().getVolumeId());
          assertThat(scene.isShown()).isFalse();
        });
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "CEPH_CSI_TEST_CAMPAIGN", matches = "full") // a minute
  void deleteTheLastReferenceOfASnapshotThatCephCsiDeleted() throws InterruptedException {
    survives(
        0,
        (scene, controller) -> {
          String snapshot = scene.snapshot().getSnapshotId();
          assertThat(STATE.tracker().mask(snapshot, snapshot)).isEqualTo(RemoveResult.REMAINING);
          deleteVolume(controller, scene.shallow());
        },
        scene -> {
          driver.delete(scene.shallow().getVolumeId());
          assertThat(scene.isShown()).isFalse();
        });
  }

  @Test
  void deleteAReferenceThatIsNotTheLast() throws InterruptedException {
    survives(
        0,
        (scene, controller) -> deleteVolume(controller, scene.shallow()),
        scene -> {
          driver.delete(scene.shallow().getVolumeId());
          assertThat(scene.isShown()).isTrue();
        });
  }

  @Test
  void deleteVolumeWithSnapshots() throws InterruptedException {
    survives(
        1,
        (scene, controller) -> deleteVolume(controller, scene.source()),
        scene -> {
          driver.delete(scene.source().getVolumeId());
          assertThat(scene.isShown()).isTrue();
        });
  }

  /** It has no journal entry: nothing else leads to it. */
  @Test
  void theSubvolumeThatAPinWasTriedOnIsRemovedLater() throws InterruptedException {
    String deleted = "csi.java.deleted.default";
    String name = "pvc-" + UUID.randomUUID();
    Volume source = driver.create(name + "-source", 16 * MIB);
    CreateVolumeRequest request =
        driver
            .cloneRequest(name, 0, source.getVolumeId())
            .putMutableParameters("mds-pin-export", "0")
            .build();
    List<String> probes = List.of();
    for (int write = 1; probes.isEmpty(); write++) {
      assertThat(write).as("the call tries no pin").isLessThan(8);
      try (FaultyDriver dying =
          FaultyDriver.start("cephfs", CLUSTER, "after," + write + ",calls")) {
        assertStatus(Code.UNAVAILABLE, () -> dying.controller().createVolume(request));
        assertThat(dying.halted(Duration.ofSeconds(30))).isTrue();
      }
      probes =
          STATE.subvolumes().stream().filter(each -> each.startsWith("csi.java.pin-")).toList();
    }
    Set<String> recorded = STATE.omap(deleted).keySet();
    assertThat(recorded).containsAll(probes);
    Volume made =
        untilNotAborted(
            Duration.ofMinutes(2), () -> driver.controller().createVolume(request).getVolume());
    assertThat(STATE.omap(deleted).keySet()).isEqualTo(recorded); // a pin that could be tried
    assertThat(STATE.subvolumes()).containsAll(probes); // which may be used for some minutes
    String probe = probes.get(0);
    STATE.setOmap(deleted, probe, "VOLUME " + probe.substring("csi.java.pin-".length()) + " 1");
    driver.delete(made.getVolumeId());
    driver.delete(source.getVolumeId());
    Awaitility.await()
        .atMost(Duration.ofMinutes(3))
        .untilAsserted(() -> assertThat(STATE.leftovers()).isEmpty());
    assertThat(STATE.omap(deleted)).doesNotContainKey(probe);
  }
}
