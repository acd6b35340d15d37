package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.fsck.check.RbdCheck;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A driver's process is halted at a write of a call. fsck then says what the call left, and nothing
 * of the volumes beside; its repair loses none of their bytes; and the call, repeated after it,
 * ends as if nothing had been. {@code CEPH_CSI_TEST_CAMPAIGN=full} tries every write, else a
 * sample.
 */
class FsckAfterKillIT {
  private static final Logger LOG = LoggerFactory.getLogger(FsckAfterKillIT.class);
  private static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
  private static final long MIB = 1L << 20;
  private static final int MOST = 60;
  private static final List<Integer> SAMPLE = List.of(2, 5);

  /** What calls that are broken off leave, and what of it a person must decide on. */
  private static final Set<FindingKind> LEFT =
      EnumSet.of(
          FindingKind.CREATION_UNFINISHED,
          FindingKind.DELETION_UNFINISHED,
          FindingKind.ENTRY_WITHOUT_NAME,
          FindingKind.NAME_WITHOUT_ENTRY,
          FindingKind.IMAGE_IN_TRASH,
          FindingKind.IMAGE_WITHOUT_ENTRY,
          FindingKind.IMAGE_GONE,
          FindingKind.INTERMEDIATE_IMAGE_LEFT,
          FindingKind.SNAPSHOT_WITHOUT_ENTRY,
          FindingKind.SNAPSHOT_GONE,
          FindingKind.HEADER_WITHOUT_NAME,
          FindingKind.NAME_WITHOUT_HEADER,
          FindingKind.DIRECTORY_DIFFERS,
          FindingKind.NAME_OBJECT_WRONG,
          FindingKind.TRASH_SNAPSHOT_WITHOUT_CLONE,
          FindingKind.MOVE_TO_TRASH_UNFINISHED,
          FindingKind.OBJECT_MAP_WITHOUT_HEADER,
          FindingKind.TRASH_REMOVABLE);

  private static LocalCluster ceph;
  private static RadosCluster connection;
  private static IoContext io;
  private static ImageContent content;

  @BeforeAll
  static void start() throws Exception {
    ceph = TestCluster.start("fsck-kill");
    // A process that was halted counts as a user of its images until its watch expires.
    ceph.ceph("config", "set", "osd", "osd_client_watch_timeout", "10");
    connection = ceph.connect();
    io = connection.openPool("rbd");
    content = new ImageContent(ceph);
  }

  @AfterAll
  static void end() throws Exception {
    io.close();
    connection.close();
    ceph.close();
  }

  /** A volume with content, a snapshot of it, and a clone of that; the content of all three. */
  private record Scene(
      TestDriver driver, String name, Volume volume, Snapshot snapshot, Volume restored, int sum) {
    static Scene set(TestDriver driver) {
      String name = "pvc-" + UUID.randomUUID();
      Volume volume = driver.create(name + "-source", 32 * MIB);
      content.write("rbd/" + TestDriver.image(volume), name.hashCode());
      Snapshot snapshot = driver.snapshot(name + "-shot", volume.getVolumeId());
      Volume restored = driver.restore(name + "-clone", 0, snapshot.getSnapshotId());
      return new Scene(
          driver, name, volume, snapshot, restored, content.checksum("rbd/" + image(volume)));
    }

    private static String image(Volume volume) {
      return TestDriver.image(volume);
    }

    Scene with(TestDriver other) {
      return new Scene(other, name, volume, snapshot, restored, sum);
    }

    /** The uuids of what the scene has. */
    Set<String> uuids() {
      Set<String> uuids = new TreeSet<>();
      for (String id :
          List.of(volume.getVolumeId(), snapshot.getSnapshotId(), restored.getVolumeId())) {
        uuids.add(VolumeId.parse(id).orElseThrow().uuid().toString());
      }
      return uuids;
    }
  }

  /** A call under test. */
  private interface Call {
    Object send(Scene scene, ControllerBlockingStub controller);
  }

  private static Object delete(Scene scene, ControllerBlockingStub controller, Volume volume) {
    return controller.deleteVolume(
        DeleteVolumeRequest.newBuilder()
            .setVolumeId(volume.getVolumeId())
            .putAllSecrets(scene.driver().secrets())
            .build());
  }

  private static Object delete(Scene scene, ControllerBlockingStub controller, Snapshot snapshot) {
    return controller.deleteSnapshot(
        DeleteSnapshotRequest.newBuilder()
            .setSnapshotId(snapshot.getSnapshotId())
            .putAllSecrets(scene.driver().secrets())
            .build());
  }

  @Test
  void createVolume() throws Exception {
    kill(
        (scene, controller) ->
            controller.createVolume(scene.driver().createRequest(scene.name(), 16 * MIB).build()),
        Optional.empty());
  }

  @Test
  void createVolumeFromSnapshot() throws Exception {
    kill(
        (scene, controller) ->
            controller.createVolume(
                scene
                    .driver()
                    .restoreRequest(scene.name(), 0, scene.snapshot().getSnapshotId())
                    .build()),
        Optional.empty());
  }

  @Test
  void createVolumeFromVolume() throws Exception {
    kill(
        (scene, controller) ->
            controller.createVolume(
                scene.driver().cloneRequest(scene.name(), 0, scene.volume().getVolumeId()).build()),
        Optional.empty());
  }

  @Test
  void createSnapshot() throws Exception {
    kill(
        (scene, controller) ->
            controller.createSnapshot(
                scene.driver().snapshotRequest(scene.name(), scene.volume().getVolumeId()).build()),
        Optional.empty());
  }

  @Test
  void createNativeSnapshot() throws Exception {
    kill(
        (scene, controller) ->
            controller.createSnapshot(
                scene
                    .driver()
                    .snapshotRequest(scene.name(), scene.volume().getVolumeId())
                    .putParameters("snapshotMode", "native")
                    .build()),
        Optional.empty());
  }

  @Test
  void deleteSnapshot() throws Exception {
    kill(
        (scene, controller) -> delete(scene, controller, scene.snapshot()),
        Optional.of(scene -> scene.snapshot().getSnapshotId()));
  }

  @Test
  void deleteVolume() throws Exception {
    kill(
        (scene, controller) -> delete(scene, controller, scene.restored()),
        Optional.of(scene -> scene.restored().getVolumeId()));
  }

  /** What of a scene a call deletes. */
  private interface Deleted {
    String id(Scene scene);
  }

  private static void kill(Call call, Optional<Deleted> deleted) throws Exception {
    Set<String> seen = new TreeSet<>();
    int killed = 0;
    if (!FULL) {
      for (int write : SAMPLE) {
        killed += attempt(call, deleted, "after," + write + ",calls", seen) ? 1 : 0;
      }
    }
    for (String moment : FULL ? List.of("before", "after") : List.<String>of()) {
      boolean halted = true;
      for (int write = 1; halted && write < MOST; write++) {
        halted = attempt(call, deleted, moment + "," + write + ",calls", seen);
        killed += halted ? 1 : 0;
      }
      assertThat(halted).as("the call has fewer than %d writes", MOST).isFalse();
    }
    assertThat(killed).isPositive();
    LOG.warn("killed {} times, fsck found {}", killed, seen);
  }

  private static boolean attempt(
      Call call, Optional<Deleted> deleted, String fault, Set<String> seen) throws Exception {
    Scene scene;
    try (TestDriver driver = TestDriver.rbd(ceph).withCredentials().start()) {
      scene = Scene.set(driver);
    }
    boolean halted;
    try (FaultyDriver faulty = FaultyDriver.start(ceph, fault)) {
      boolean answered = true;
      try {
        call.send(scene, faulty.controller());
      } catch (StatusRuntimeException e) {
        assertThat(e.getStatus().getCode()).as(fault).isEqualTo(Code.UNAVAILABLE);
        answered = false;
      }
      halted = faulty.halted(FaultyDriver.ending(answered));
      assertThat(halted || answered).as(fault).isTrue();
    }
    Set<String> whole = scene.uuids();
    deleted.ifPresent(
        of -> whole.remove(VolumeId.parse(of.id(scene)).orElseThrow().uuid().toString()));
    List<Finding> found = check();
    found.forEach(finding -> seen.add(finding.kind().name()));
    assertThat(found)
        .as(fault)
        .allSatisfy(
            finding -> {
              assertThat(LEFT).contains(finding.kind());
              assertThat(whole).noneMatch(finding.object()::endsWith);
            });
    mend(found);
    assertWhole(scene, deleted);
    try (TestDriver restarted = TestDriver.rbd(ceph).withCredentials().start()) {
      endWell(scene.with(restarted), call, deleted, fault);
    }
    return halted;
  }

  private static void mend(List<Finding> findings) {
    for (Finding finding : findings) {
      finding.repair().flatMap(Finding.Repair::mend).ifPresent(done -> LOG.info("{}", done));
    }
  }

  private static void assertWhole(Scene scene, Optional<Deleted> deleted) {
    for (Volume volume : List.of(scene.volume(), scene.restored())) {
      if (deleted.filter(of -> of.id(scene).equals(volume.getVolumeId())).isEmpty()) {
        assertThat(content.checksum("rbd/" + TestDriver.image(volume))).isEqualTo(scene.sum());
      }
    }
  }

  /** The call is repeated, all is used, and all is deleted: then nothing is left. */
  private static void endWell(Scene scene, Call call, Optional<Deleted> deleted, String fault) {
    TestDriver driver = scene.driver();
    Object answer = whenUnused(() -> call.send(scene, driver.controller()));
    assertThat(call.send(scene, driver.controller())).as(fault).isEqualTo(answer);
    List<String> volumes = new ArrayList<>(List.of(scene.volume().getVolumeId()));
    List<String> snapshots = new ArrayList<>();
    if (answer instanceof io.cephcsi.proto.csi.v1.CreateVolumeResponse made) {
      volumes.add(made.getVolume().getVolumeId());
      if (made.getVolume().hasContentSource()) {
        assertThat(content.checksum("rbd/" + TestDriver.image(made.getVolume())))
            .isEqualTo(scene.sum());
      }
    } else if (answer instanceof io.cephcsi.proto.csi.v1.CreateSnapshotResponse taken) {
      snapshots.add(taken.getSnapshot().getSnapshotId());
    }
    if (deleted.isEmpty() || !deleted.get().id(scene).equals(scene.restored().getVolumeId())) {
      volumes.add(scene.restored().getVolumeId());
    }
    if (deleted.isEmpty() || !deleted.get().id(scene).equals(scene.snapshot().getSnapshotId())) {
      snapshots.add(scene.snapshot().getSnapshotId());
    }
    for (String snapshot : snapshots) {
      Volume restored =
          whenUnused(() -> driver.restore(scene.name() + "-" + snapshot.hashCode(), 0, snapshot));
      assertThat(content.checksum("rbd/" + TestDriver.image(restored))).isEqualTo(scene.sum());
      volumes.add(restored.getVolumeId());
    }
    assertThat(driver.expand(scene.volume().getVolumeId(), 40 * MIB)).isEqualTo(40 * MIB);
    for (String volume : volumes) {
      whenUnused(() -> delete(volume, driver));
    }
    for (String snapshot : snapshots) {
      whenUnused(
          () -> {
            driver.deleteSnapshot(snapshot);
            return snapshot;
          });
    }
    Awaitility.await(fault) // the manager empties the trash
        .atMost(Duration.ofMinutes(1))
        .pollInterval(Duration.ofMillis(300))
        .untilAsserted(
            () -> {
              mend(check());
              assertThat(check()).isEmpty();
            });
  }

  private static String delete(String volume, TestDriver driver) {
    driver.delete(volume);
    return volume;
  }

  private interface Attempt<T> {
    T call();
  }

  /** A process that was halted counts as a user of its images until its watch expires. */
  private static <T> T whenUnused(Attempt<T> attempt) {
    List<T> answer = new ArrayList<>();
    Awaitility.await()
        .atMost(Duration.ofSeconds(40))
        .pollInterval(Duration.ofMillis(300))
        .ignoreExceptionsMatching(
            e ->
                e instanceof StatusRuntimeException status
                    && Set.of(Code.FAILED_PRECONDITION, Code.ABORTED)
                        .contains(status.getStatus().getCode()))
        .until(
            () -> {
              answer.add(attempt.call());
              return true;
            });
    return answer.get(0);
  }

  private static List<Finding> check() {
    CheckSettings settings =
        new CheckSettings(16, 0, Duration.ZERO, Duration.ZERO, Duration.ZERO, true);
    try (Workers workers = new Workers(settings)) {
      return new RbdCheck(settings, workers, new CheckProgress(), Set.of("default"))
          .check(io)
          .findings();
    }
  }
}
