package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static io.cephcsi.driver.testing.TestGroupSnapshots.ids;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.cephcsi.bindings.cephfs.CephFsFile;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.GetPluginCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.GroupControllerGetCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.PluginCapability;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** CSI GroupController of CephFS over the socket: what the cluster's release allows. */
class CephFsGroupSnapshotIT extends ConformanceCase {
  private static final int FIRST_RELEASE = SubvolumeState.FIRST_TO_QUIESCE;
  private static final SubvolumeState STATE = new SubvolumeState(CLUSTER);
  private static int release;

  @BeforeAll
  static void start() {
    start(Kind.CEPHFS);
    release = STATE.release();
  }

  @AfterEach
  void nothingIsLeft() {
    assertThat(STATE.leftovers()).isEmpty();
  }

  private static void assumeQuiesce() {
    assumeTrue(
        release >= FIRST_RELEASE,
        "ceph fs quiesce is from Ceph " + FIRST_RELEASE + " on, the cluster is of " + release);
  }

  private static TestGroupSnapshots groups() {
    return new TestGroupSnapshots(driver);
  }

  private static String path(Volume volume) {
    return volume.getVolumeContextMap().get("subvolumePath");
  }

  private static String subvolume(Volume volume) {
    return volume.getVolumeContextMap().get("subvolumeName");
  }

  private static Volume filled(String content) {
    Volume volume = create();
    STATE.write(path(volume) + "/file", content);
    return volume;
  }

  @Test
  void itIsAdvertisedWhereTheClusterCanQuiesce() {
    assertThat(
            groups()
                .stub()
                .groupControllerGetCapabilities(
                    GroupControllerGetCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesCount())
        .isEqualTo(release >= FIRST_RELEASE ? 1 : 0);
    assertThat(
            driver
                .identity()
                .getPluginCapabilities(GetPluginCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList()
                .stream()
                .map(capability -> capability.getService().getType())
                .filter(type -> type == PluginCapability.Service.Type.GROUP_CONTROLLER_SERVICE))
        .hasSize(release >= FIRST_RELEASE ? 1 : 0);
    if (release < FIRST_RELEASE) {
      Volume volume = create();
      assertStatus(
          Code.UNIMPLEMENTED,
          "Ceph " + FIRST_RELEASE,
          () -> groups().take("gs-" + newName(), volume.getVolumeId()));
      driver.delete(volume.getVolumeId());
    }
    groups().delete(NOBODY, List.of(NOBODY));
    assertStatus(Code.NOT_FOUND, NOBODY, () -> groups().get(NOBODY, List.of(NOBODY)));
  }

  @Test
  void withoutCredentialsOfItsOwnTheDriverAdvertisesNothing() {
    try (TestDriver poor = TestDriver.cephFs(CLUSTER).instance(newInstance()).start()) {
      assertThat(
              new TestGroupSnapshots(poor)
                  .stub()
                  .groupControllerGetCapabilities(
                      GroupControllerGetCapabilitiesRequest.getDefaultInstance())
                  .getCapabilitiesCount())
          .isZero();
    }
  }

  private static String shown(Snapshot snapshot, Volume source) {
    String name = "csi-snap-" + uuid(snapshot.getSnapshotId());
    String root = "/volumes/csi/" + subvolume(source);
    return STATE.read(
        STATE.mounted(mount -> mount.snapshots(root).contents(name).get(0)) + "/file");
  }

  private static UUID uuid(String id) {
    return VolumeId.parse(id).orElseThrow().uuid();
  }

  private static Snapshot of(VolumeGroupSnapshot taken, Volume source) {
    return taken.getSnapshotsList().stream()
        .filter(snapshot -> snapshot.getSourceVolumeId().equals(source.getVolumeId()))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void eachSnapshotOfAGroupIsASnapshotLikeAnyOther() {
    assumeQuiesce();
    Volume a = filled("of a");
    Volume b = filled("of b");
    String name = "gs-" + newName();
    VolumeGroupSnapshot taken = groups().take(name, a.getVolumeId(), b.getVolumeId());
    assertThat(taken.getReadyToUse()).isTrue();
    assertThat(taken.getSnapshotsList())
        .hasSize(2)
        .allSatisfy(
            snapshot -> {
              assertThat(snapshot.getReadyToUse()).isTrue();
              assertThat(snapshot.getSizeBytes()).isEqualTo(SIZE);
              assertThat(snapshot.getGroupSnapshotId()).isEqualTo(taken.getGroupSnapshotId());
            });
    assertThat(groups().take(name, b.getVolumeId(), a.getVolumeId()).getSnapshotsList())
        .containsExactlyInAnyOrderElementsOf(taken.getSnapshotsList());
    assertThat(groups().get(taken.getGroupSnapshotId(), ids(taken))).isEqualTo(taken);
    assertRecordedAsCephCsiDoes(name, taken);
    STATE.write(path(a) + "/file", "changed");
    assertThat(shown(of(taken, a), a)).isEqualTo("of a");
    assertThat(shown(of(taken, b), b)).isEqualTo("of b");
    for (Snapshot snapshot : taken.getSnapshotsList()) {
      assertThat(
              controller()
                  .listSnapshots(
                      ListSnapshotsRequest.newBuilder()
                          .setSnapshotId(snapshot.getSnapshotId())
                          .build())
                  .getEntries(0)
                  .getSnapshot())
          .isEqualTo(snapshot);
      assertStatus(
          Code.INVALID_ARGUMENT,
          taken.getGroupSnapshotId(),
          () -> driver.deleteSnapshot(snapshot.getSnapshotId()));
    }
    Volume copy = await(driver.restoreRequest(newName(), 0, of(taken, a).getSnapshotId()).build());
    assertThat(STATE.read(path(copy) + "/file")).isEqualTo("of a");
    Volume shallow = driver.show(newName(), of(taken, b).getSnapshotId());

    driver.delete(a.getVolumeId());
    driver.delete(b.getVolumeId());
    groups().delete(taken);
    groups().delete(taken);
    assertStatus(Code.NOT_FOUND, () -> groups().get(taken.getGroupSnapshotId(), ids(taken)));
    assertThat(shown(of(taken, b), b)).isEqualTo("of b");
    driver.delete(shallow.getVolumeId());
    driver.delete(copy.getVolumeId());
  }

  private static void assertRecordedAsCephCsiDoes(String name, VolumeGroupSnapshot taken) {
    UUID uuid = uuid(taken.getGroupSnapshotId());
    assertThat(STATE.omap("csi.groups." + driver.instanceId()))
        .containsEntry("csi.volume.group." + name, uuid.toString());
    Map<String, String> omap = STATE.omap("csi.volume.group." + uuid);
    assertThat(omap.remove("csi.creationtime")).isNotBlank();
    assertThat(omap.remove("csi.volname")).isEqualTo(name);
    assertThat(omap.remove("csi.groupname")).isEqualTo("csi-vol-group-" + uuid);
    assertThat(omap).hasSize(taken.getSnapshotsCount());
    for (Snapshot snapshot : taken.getSnapshotsList()) {
      assertThat(omap).containsEntry(snapshot.getSourceVolumeId(), snapshot.getSnapshotId());
      assertThat(STATE.omap("csi.snap." + uuid(snapshot.getSnapshotId())))
          .containsEntry("csi.groupid", taken.getGroupSnapshotId());
      assertThat(STATE.leftovers()).contains("rt-backingsnapshot-" + snapshot.getSnapshotId());
    }
  }

  @Test
  void whatIsWrongIsSaid() {
    assumeQuiesce();
    String a = create().getVolumeId();
    String b = create().getVolumeId();
    VolumeId id = VolumeId.parse(a).orElseThrow();
    String nobody = new VolumeId(id.clusterId(), id.location(), new UUID(7, 7)).toString();
    String elsewhere = new VolumeId(id.clusterId(), id.location() + 1, id.uuid()).toString();
    assertStatus(Code.NOT_FOUND, nobody, () -> groups().take(newName(), a, nobody));
    assertStatus(Code.FAILED_PRECONDITION, elsewhere, () -> groups().take(newName(), a, elsewhere));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "clusterID",
        () ->
            groups()
                .stub()
                .createVolumeGroupSnapshot(
                    groups().request(newName(), a).putParameters("clusterID", "other").build()));
    String name = "gs-" + newName();
    VolumeGroupSnapshot taken = groups().take(name, a);
    assertStatus(Code.ALREADY_EXISTS, name, () -> groups().take(name, a, b));
    assertStatus(Code.ALREADY_EXISTS, name, () -> groups().take(name, b));
    List<String> wrong = List.of(NOBODY);
    String group = taken.getGroupSnapshotId();
    assertStatus(Code.INVALID_ARGUMENT, "snapshot_ids", () -> groups().delete(group, wrong));
    assertStatus(Code.INVALID_ARGUMENT, "snapshot_ids", () -> groups().get(group, wrong));
    Volume shallow = driver.show(newName(), taken.getSnapshots(0).getSnapshotId());
    assertStatus(
        Code.INVALID_ARGUMENT,
        "is a shallow volume",
        () -> groups().take(newName(), a, shallow.getVolumeId()));
    groups().delete(taken);
    List.of(shallow.getVolumeId(), a, b).forEach(driver::delete);
  }

  /**
   * A writer puts rising numbers into one volume after the other: no cut shows a later one alone.
   */
  @Test
  void theSnapshotsAreOfOnePointInTime() throws Exception {
    assumeQuiesce();
    Volume a = filled(number(0));
    Volume b = filled(number(0));
    ExecutorService writer = Executors.newSingleThreadExecutor();
    AtomicBoolean done = new AtomicBoolean();
    try {
      Future<Long> written =
          writer.submit(
              () ->
                  STATE.mounted(
                      mount -> {
                        try (CephFsFile first = mount.createFile(path(a) + "/file", 0644);
                            CephFsFile second = mount.createFile(path(b) + "/file", 0644)) {
                          long number = 0;
                          while (!done.get()) {
                            number++;
                            first.write(0, number(number).getBytes(UTF_8));
                            first.flush();
                            second.write(0, number(number).getBytes(UTF_8));
                            second.flush();
                          }
                          return number;
                        }
                      }));
      for (int i = 0; i < 4; i++) {
        VolumeGroupSnapshot taken =
            groups().take("gs-" + newName(), a.getVolumeId(), b.getVolumeId());
        long inA = Long.parseLong(shown(of(taken, a), a));
        long inB = Long.parseLong(shown(of(taken, b), b));
        assertThat(inA - inB).as("%d in the first, %d in the second", inA, inB).isBetween(0L, 1L);
        groups().delete(taken);
      }
      done.set(true);
      assertThat(written.get()).isPositive();
    } finally {
      done.set(true);
      writer.shutdown();
    }
    driver.delete(a.getVolumeId());
    driver.delete(b.getVolumeId());
  }

  private static String number(long number) {
    return "%012d".formatted(number);
  }

  /** Somebody lets the clients go on meanwhile: the snapshots do not count. */
  @Test
  void aSetThatIsEndedByOthersIsNoSnapshot() throws Exception {
    assumeQuiesce();
    String a = create().getVolumeId();
    String b = create().getVolumeId();
    String name = "gs-" + newName();
    ExecutorService others = Executors.newSingleThreadExecutor();
    AtomicBoolean done = new AtomicBoolean();
    try (var admin = CLUSTER.connect()) {
      String cancelAll =
          "{\"prefix\": \"fs quiesce\", \"vol_name\": \"%s\", \"cancel\": true, \"all\": true}"
              .formatted(CLUSTER.fileSystem());
      Future<?> cancelling =
          others.submit(
              () -> {
                while (!done.get()) {
                  assertThat(admin.mgrCommand(cancelAll)).isNotNull();
                }
              });
      try {
        Awaitility.await()
            .atMost(Duration.ofSeconds(60))
            .until(
                () -> {
                  try {
                    groups().delete(groups().take(name, a, b));
                    return false;
                  } catch (StatusRuntimeException e) {
                    assertThat(e.getStatus().getCode()).isEqualTo(Code.ABORTED);
                    return true;
                  }
                });
      } finally {
        done.set(true);
      }
      cancelling.get();
    } finally {
      others.shutdown();
    }
    List.of(a, b)
        .forEach(volume -> assertThat(STATE.snapshots("csi-vol-" + uuid(volume))).isEmpty());
    groups().delete(groups().take(name, a, b));
    driver.delete(a);
    driver.delete(b);
  }

  /** Two drivers, which do not know each other's locks. */
  @Test
  void ofTwoCreationsOfANameThereIsOneSnapshot() throws Exception {
    assumeQuiesce();
    String a = create().getVolumeId();
    String b = create().getVolumeId();
    ExecutorService clients = Executors.newFixedThreadPool(2);
    try (TestDriver other =
        TestDriver.cephFs(CLUSTER).instance(driver.instanceId()).withCredentials().start()) {
      for (int i = 0; i < 4; i++) {
        String name = "gs-" + newName();
        Future<Code> ours = clients.submit(() -> codeOf(() -> groups().take(name, a, b)));
        Future<Code> theirs =
            clients.submit(() -> codeOf(() -> new TestGroupSnapshots(other).take(name, a, b)));
        assertThat(List.of(ours.get(), theirs.get())).isSubsetOf(Code.OK, Code.ABORTED);
        VolumeGroupSnapshot taken = groups().take(name, a, b);
        assertThat(groups().get(taken.getGroupSnapshotId(), ids(taken))).isEqualTo(taken);
        groups().delete(taken);
      }
    } finally {
      clients.shutdown();
    }
    driver.delete(a);
    driver.delete(b);
  }

  private static Code codeOf(Supplier<?> call) {
    try {
      assertThat(call.get()).isNotNull();
      return Code.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus().getCode();
    }
  }

  /** ceph-csi records neither attempts nor that one has ended. */
  @Test
  void whatCephCsiTookIsGivenAsItIsAndNeverTakenAnew() {
    assumeQuiesce();
    Volume a = create();
    Volume b = create();
    String name = "gs-" + newName();
    VolumeGroupSnapshot taken = groups().take(name, a.getVolumeId(), b.getVolumeId());
    String entry = "csi.volume.group." + uuid(taken.getGroupSnapshotId());
    for (String ours : List.of("csi.java.attempt", "csi.java.taken")) {
      CLUSTER.rados("-p", "cephfs.metadata", "-N", "csi", "rmxattr", entry, ours);
    }
    assertThat(groups().take(name, a.getVolumeId(), b.getVolumeId())).isEqualTo(taken);
    assertThat(groups().get(taken.getGroupSnapshotId(), ids(taken))).isEqualTo(taken);
    STATE.removeSnapshot(subvolume(a), "csi-snap-" + uuid(of(taken, a).getSnapshotId()));
    assertStatus(
        Code.ABORTED,
        "delete it first",
        () -> groups().take(name, a.getVolumeId(), b.getVolumeId()));
    groups().delete(taken);
    driver.delete(a.getVolumeId());
    driver.delete(b.getVolumeId());
  }

  @Test
  void whatWasTakenIsGivenThoughAVolumeIsDeletedByNow() {
    assumeQuiesce();
    String a = create().getVolumeId();
    String b = create().getVolumeId();
    String name = "gs-" + newName();
    VolumeGroupSnapshot taken = groups().take(name, a, b);
    driver.delete(a);
    assertThat(groups().take(name, a, b)).isEqualTo(taken);
    assertStatus(Code.NOT_FOUND, a, () -> groups().take(newName(), a, b));
    // As if the driver had died just before it recorded that they are taken:
    String entry = "csi.volume.group." + uuid(taken.getGroupSnapshotId());
    CLUSTER.rados("-p", "cephfs.metadata", "-N", "csi", "rmxattr", entry, "csi.java.taken");
    assertStatus(Code.NOT_FOUND, a, () -> groups().take(name, a, b));
    driver.delete(b);
  }

  @Test
  void aSnapshotOfAGroupIsNotGivenForASingleOne() {
    assumeQuiesce();
    String a = create().getVolumeId();
    String name = "gs-" + newName();
    VolumeGroupSnapshot taken = groups().take(name, a);
    CreateSnapshotRequest single = snapshot(name, a).build();
    Snapshot other = controller().createSnapshot(single).getSnapshot();
    assertThat(ids(taken)).doesNotContain(other.getSnapshotId());
    driver.deleteSnapshot(other.getSnapshotId());
    groups().delete(taken);
    driver.delete(a);
  }

  /** csi-snapshotter sends none unless the class names them, by a key of its own. */
  @Test
  void oneIsAskedForWithTheCredentialsOfTheDriver() {
    assumeQuiesce();
    Volume volume = create();
    VolumeGroupSnapshot taken = groups().take("gs-" + newName(), volume.getVolumeId());
    String id = taken.getGroupSnapshotId();
    assertThat(groups().get(id, ids(taken), Map.of())).isEqualTo(taken);
    try (TestDriver without = Kind.CEPHFS.start(CLUSTER, driver.instanceId(), false)) {
      TestGroupSnapshots other = new TestGroupSnapshots(without);
      assertStatus(Code.UNAUTHENTICATED, () -> other.get(id, ids(taken), Map.of()));
      assertThat(other.get(id, ids(taken))).isEqualTo(taken);
    }
    groups().delete(taken);
    driver.delete(volume.getVolumeId());
  }
}
