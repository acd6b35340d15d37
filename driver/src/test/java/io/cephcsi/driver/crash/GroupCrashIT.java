package io.cephcsi.driver.crash;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.FindingKind;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.fsck.check.RbdCheck;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.proto.addons.volumegroup.DeleteVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.ListVolumeGroupsResponse;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.proto.csi.v1.DeleteVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.grpc.Status.Code;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The driver's process is halted at every write of the calls on volume groups. Another driver then
 * sees the old membership or the new one, and the repeated call ends as if nothing had happened.
 * {@code CEPH_CSI_TEST_CAMPAIGN=full} tries every write, and before it; else a sample of some
 * calls, which the seed moves.
 */
class GroupCrashIT extends GroupCrashCase {
  private static final int MAX_WRITES = 60;

  private static Set<String> before = Set.of();

  /** What must hold after it died, and after the call was repeated. */
  private interface Check {
    void on(Scene scene, TestGroups groups);
  }

  private static void survive(int step, Call call, Check after, Check repeated)
      throws InterruptedException {
    survive(step, (scene, groups) -> {}, call, after, repeated);
  }

  private static void survive(int step, Check prepare, Call call, Check after, Check repeated)
      throws InterruptedException {
    for (String when : FULL ? List.of("before", "after") : List.of("after")) {
      boolean halted = true;
      int write = first(step);
      for (; halted && write < MAX_WRITES; write += FULL ? 1 : step) {
        halted = attempt(when + "," + write + ",calls", prepare, call, after, repeated);
      }
      assertThat(halted).as("the call ended before %d writes", MAX_WRITES).isFalse();
      System.out.printf("halted %s writes up to %d%n", when, write - 1);
    }
  }

  private static boolean attempt(
      String fault, Check prepare, Call call, Check after, Check repeated)
      throws InterruptedException {
    Set<String> objects = POOL.everything();
    Scene scene;
    try (TestDriver driver = TestDriver.rbd(CLUSTER).withCredentials().start()) {
      scene = Scene.set(driver);
      prepare.on(scene, new TestGroups(CLUSTER, driver));
    }
    boolean halted = halts(fault, scene, call);
    forgetLocks(objects);
    try (TestDriver driver = TestDriver.rbd(CLUSTER).withCredentials().start()) {
      TestGroups groups = new TestGroups(CLUSTER, driver);
      after.on(scene, groups);
      Object answer = call.send(scene, groups, driver.channel());
      assertThat(call.send(scene, groups, driver.channel())).as(fault).isEqualTo(answer);
      repeated.on(scene, groups);
      for (VolumeGroup group : all(driver, scene)) {
        whenUnused(() -> groups.delete(group.getVolumeGroupId()));
      }
      scene.volumes().forEach(volume -> whenUnused(() -> driver.delete(volume)));
      if (FULL) {
        awaitNothingBut(fault, "", objects);
      }
      assertThat(POOL.keys("csi.groups.default")).noneMatch(key -> key.contains(scene.name()));
      assertThat(POOL.keys("csi.volumes.default")).noneMatch(key -> key.contains(scene.name()));
    }
    return halted;
  }

  @BeforeAll
  static void look() {
    before = POOL.everything();
  }

  /** Of all attempts, the first driver that works with the pool removes what is left. */
  @AfterAll
  static void nothingIsLeft() {
    try (TestDriver last = TestDriver.rbd(CLUSTER).withCredentials().start()) {
      last.delete(last.create("pvc-" + UUID.randomUUID(), MIB).getVolumeId());
      awaitNothingBut("all attempts", "", before);
    }
  }

  /** The groups of a scene, as the list shows them. */
  private static List<VolumeGroup> all(TestDriver driver, Scene scene) {
    return driver.groups().listVolumeGroups(TestGroups.listRequest(0, "")).getEntriesList().stream()
        .map(ListVolumeGroupsResponse.Entry::getVolumeGroup)
        .filter(
            group ->
                group.getVolumeGroupId().equals(scene.id())
                    || TestGroups.members(group).stream().anyMatch(scene.volumes()::contains))
        .toList();
  }

  @Test
  void createVolumeGroup() throws InterruptedException {
    survive(
        1,
        (scene, groups, channel) ->
            stub(channel)
                .createVolumeGroup(groups.createRequest(scene.name() + "-new", scene.c()).build()),
        (scene, groups) ->
            assertThat(all(groups.driver(), scene))
                .allSatisfy(
                    group ->
                        assertThat(TestGroups.members(group))
                            .isIn(Set.of(scene.a(), scene.b()), Set.of(scene.c()))),
        (scene, groups) -> {
          VolumeGroup made = groups.create(scene.name() + "-new", scene.c());
          assertThat(groups.images(TestGroups.rbdGroup(made)))
              .containsExactly("csi-vol-" + TestGroups.uuid(scene.c()));
        });
  }

  @Test
  void modifyVolumeGroupMembership() throws InterruptedException {
    survive(
        1,
        (scene, groups, channel) ->
            stub(channel)
                .modifyVolumeGroupMembership(
                    groups.modifyRequest(scene.id(), scene.b(), scene.c()).build()),
        (scene, groups) ->
            assertThat(groups.members(scene.id()))
                .isIn(Set.of(scene.a(), scene.b()), Set.of(scene.b(), scene.c())),
        (scene, groups) -> {
          assertThat(groups.members(scene.id())).containsExactlyInAnyOrder(scene.b(), scene.c());
          assertThat(groups.images(TestGroups.rbdGroup(scene.group())))
              .containsExactlyInAnyOrder(
                  "csi-vol-" + TestGroups.uuid(scene.b()), "csi-vol-" + TestGroups.uuid(scene.c()));
        });
  }

  @Test
  void deleteVolumeGroup() throws InterruptedException {
    survive(
        3,
        (scene, groups, channel) ->
            stub(channel)
                .deleteVolumeGroup(
                    DeleteVolumeGroupRequest.newBuilder()
                        .setVolumeGroupId(scene.id())
                        .putAllSecrets(groups.driver().secrets())
                        .build()),
        (scene, groups) -> {
          String c = "csi-vol-" + TestGroups.uuid(scene.c());
          assertThat(POOL.images()).as("a volume that is no member").contains(c);
        },
        (scene, groups) -> {
          assertThat(groups.exists(TestGroups.rbdGroup(scene.group()))).isFalse();
          assertThat(POOL.images())
              .contains("csi-vol-" + TestGroups.uuid(scene.c()))
              .doesNotContain(
                  "csi-vol-" + TestGroups.uuid(scene.a()), "csi-vol-" + TestGroups.uuid(scene.b()));
        });
  }

  private static DeleteVolumeGroupSnapshotRequest delete(
      TestGroups groups, VolumeGroupSnapshot taken) {
    return new TestGroupSnapshots(groups.driver())
        .deleteRequest(taken.getGroupSnapshotId(), TestGroupSnapshots.ids(taken));
  }

  private static VolumeGroupSnapshot taken(Scene scene, TestGroups groups, String... volumes) {
    return snapshots(groups.driver().channel())
        .createVolumeGroupSnapshot(take(scene, groups, volumes))
        .getGroupSnapshot();
  }

  /** Nothing of the group's snapshot is left but what the clones keep. */
  private static void deleteTaken(Scene scene, TestGroups groups, String... volumes) {
    VolumeGroupSnapshot taken = taken(scene, groups, volumes);
    assertThat(taken.getSnapshotsCount()).isEqualTo(volumes.length);
    assertThat(CLUSTER.rbd("group", "list", "rbd"))
        .doesNotContain(TestGroups.uuid(taken.getGroupSnapshotId()).toString());
    for (String volume : volumes) {
      POOL.snapshots("csi-vol-" + TestGroups.uuid(volume))
          .forEach(
              snapshot ->
                  assertThat(snapshot.path("namespace").path("type").asText()).isEqualTo("trash"));
    }
    whenUnused(
        () ->
            assertThat(
                    snapshots(groups.driver().channel())
                        .deleteVolumeGroupSnapshot(delete(groups, taken)))
                .isNotNull());
    assertThat(POOL.keys("csi.snaps.default")).noneMatch(key -> key.contains(scene.name()));
  }

  @Test
  void createVolumeGroupSnapshotOfAVolumeGroup() throws InterruptedException {
    survive(
        8,
        (scene, groups, channel) ->
            snapshots(channel).createVolumeGroupSnapshot(take(scene, groups, scene.a(), scene.b())),
        (scene, groups) ->
            assertThat(groups.members(scene.id())).containsExactlyInAnyOrder(scene.a(), scene.b()),
        (scene, groups) -> deleteTaken(scene, groups, scene.a(), scene.b()));
  }

  @Test
  void createVolumeGroupSnapshotOfSingleVolumes() throws InterruptedException {
    survive(
        8,
        (scene, groups) -> groups.modify(scene.id()),
        (scene, groups, channel) ->
            snapshots(channel).createVolumeGroupSnapshot(take(scene, groups, scene.a(), scene.c())),
        (scene, groups) -> {},
        (scene, groups) -> deleteTaken(scene, groups, scene.a(), scene.c()));
  }

  @Test
  void deleteVolumeGroupSnapshot() throws InterruptedException {
    AtomicReference<VolumeGroupSnapshot> taken = new AtomicReference<>();
    survive(
        4,
        (scene, groups) -> {
          groups.modify(scene.id());
          taken.set(taken(scene, groups, scene.b(), scene.c()));
        },
        (scene, groups, channel) ->
            snapshots(channel).deleteVolumeGroupSnapshot(delete(groups, taken.get())),
        (scene, groups) -> {},
        (scene, groups) ->
            assertThat(POOL.keys("csi.snaps.default"))
                .noneMatch(key -> key.contains(scene.name())));
  }

  /** The CO gives a snapshot up whose driver died: its volumes can be deleted all the same. */
  private static void giveUp(int step, Check prepare, Call call) throws InterruptedException {
    for (String when : FULL ? List.of("before", "after") : List.of("after")) {
      boolean halted = true;
      int write = first(step);
      for (; halted && write < MAX_WRITES; write += FULL ? 1 : step) {
        String fault = when + "," + write + ",calls";
        Set<String> objects = POOL.everything();
        Scene scene;
        try (TestDriver driver = TestDriver.rbd(CLUSTER).withCredentials().start()) {
          scene = Scene.set(driver);
          prepare.on(scene, new TestGroups(CLUSTER, driver));
        }
        halted = halts(fault, scene, call);
        forgetLocks(objects);
        try (TestDriver driver = TestDriver.rbd(CLUSTER).withCredentials().start()) {
          deleteSources(fault, scene, driver, objects);
        }
      }
      assertThat(halted).as("the call ended before %d writes", MAX_WRITES).isFalse();
      System.out.printf("given up after %s writes up to %d%n", when, write - 1);
    }
  }

  private static void deleteSources(
      String fault, Scene scene, TestDriver driver, Set<String> before) {
    TestGroups groups = new TestGroups(CLUSTER, driver);
    whenUnused(() -> groups.delete(scene.id()));
    scene.volumes().forEach(volume -> whenUnused(() -> driver.delete(volume)));
    TestGroupSnapshots snapshots = new TestGroupSnapshots(driver);
    // One whose parts are all made may have been answered: it can be had. Of one that died before
    // the images were in a group nothing leads there, but it can be deleted as well.
    for (String object : POOL.objects()) {
      if (object.startsWith("csi.volume.group.") && !before.contains(object)) {
        List<String> ids =
            POOL.omap(object).keySet().stream().filter(key -> !key.startsWith("csi.")).toList();
        if (!ids.isEmpty()) {
          String id = ids.get(0).replaceFirst(".{36}$", object.substring(object.length() - 36));
          if (ids.stream().allMatch(GroupCrashIT::hasImage)) {
            assertThat(snapshots.get(id, ids).getSnapshotsCount()).as(fault).isEqualTo(2);
          } else {
            assertThat(ids).as(fault).noneMatch(GroupCrashIT::hasImage);
          }
          whenUnused(() -> snapshots.delete(id, ids));
        }
      }
    }
    // Of one that died before its parts were recorded there are names, and nothing else.
    awaitNothingBut(fault, "csi\\.(volume\\.group|snap)\\..*", before);
    POOL.objects().stream()
        .filter(object -> object.matches("csi\\.(volume\\.group|snap)\\..*"))
        .filter(object -> !before.contains(object))
        .forEach(object -> CLUSTER.rados("-p", "rbd", "rm", object));
    for (String directory : List.of("csi.groups.default", "csi.snaps.default")) {
      POOL.keys(directory).stream()
          .filter(key -> key.contains(scene.name()))
          .forEach(key -> CLUSTER.rados("-p", "rbd", "rmomapkey", directory, key));
    }
  }

  private static boolean hasImage(String snapshot) {
    return POOL.omap("csi.snap." + TestGroups.uuid(snapshot)).containsKey("csi.imageid");
  }

  @Test
  void snapshotOfAVolumeGroupThatIsGivenUp() throws InterruptedException {
    giveUp(
        16,
        (scene, groups) -> {},
        (scene, groups, channel) ->
            snapshots(channel)
                .createVolumeGroupSnapshot(take(scene, groups, scene.a(), scene.b())));
  }

  @Test
  void snapshotOfSingleVolumesThatIsGivenUp() throws InterruptedException {
    giveUp(
        16,
        (scene, groups) -> groups.modify(scene.id()),
        (scene, groups, channel) ->
            snapshots(channel)
                .createVolumeGroupSnapshot(take(scene, groups, scene.a(), scene.c())));
  }

  /** Nobody knows yet that the driver is dead: its work is let be until its lock runs out. */
  @Test
  void aDriverIsTakenForAliveUntilItsLockRunsOut() throws InterruptedException {
    Set<String> objects = POOL.everything();
    try (TestDriver driver = TestDriver.rbd(CLUSTER).withCredentials().start()) {
      Scene scene = Scene.set(driver);
      TestGroups groups = new TestGroups(CLUSTER, driver);
      assertThat(groups.modify(scene.id()).getVolumesCount()).isZero();
      Call call =
          (s, g, channel) -> snapshots(channel).createVolumeGroupSnapshot(take(s, g, s.a(), s.c()));
      assertThat(halts("after,10,calls", scene, call)).isTrue();
      assertStatus(Code.ABORTED, "another driver", () -> driver.delete(scene.a()));
      assertStatus(
          Code.ABORTED, "another driver", () -> call.send(scene, groups, driver.channel()));
      TestGroupSnapshots snapshots = new TestGroupSnapshots(driver);
      whenUnused(
          () -> snapshots.delete(snapshots.take(scene.name() + "-later", scene.a(), scene.c())));
      deleteSources("after,10", scene, driver, objects);
    }
  }

  /** One by one: without these, those that are recorded would look like all there ever were. */
  @Test
  void fsckLeavesTheUnfinishedPartsOfAGroupSnapshotToTheRepeatedCall() {
    try (TestDriver driver = TestDriver.rbd(CLUSTER).withCredentials().start()) {
      String name = "group-" + UUID.randomUUID();
      String a = driver.create(name + "-a", 16 * MIB).getVolumeId();
      String b = driver.create(name + "-b", 16 * MIB).getVolumeId();
      Set<String> objects = POOL.everything();
      TestGroupSnapshots groups = new TestGroupSnapshots(driver);
      dieOver(19, groups, objects, name, a, b);
      List<String> parts = parts(objects).toList();
      List<Finding> unfinished = mendUnfinished(parts);
      assertThat(parts(objects)).containsExactlyElementsOf(parts);
      assertThat(unfinished)
          .singleElement()
          .satisfies(
              finding -> {
                assertThat(finding.repair()).isEmpty();
                assertThat(finding.detail()).contains("part of group snapshot");
              });
      AtomicReference<VolumeGroupSnapshot> taken = new AtomicReference<>();
      whenUnused(() -> taken.set(groups.take(name, a, b)));
      assertThat(taken.get().getSnapshotsCount()).isEqualTo(2);
      whenUnused(() -> groups.delete(taken.get()));
      List.of(a, b).forEach(volume -> whenUnused(() -> driver.delete(volume)));
    }
  }

  /** What fsck finds of some entries, and mends as far as it does. */
  private static List<Finding> mendUnfinished(List<String> entries) {
    CheckSettings settings =
        new CheckSettings(16, 0, Duration.ZERO, Duration.ZERO, Duration.ZERO, true);
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        Workers workers = new Workers(settings)) {
      List<Finding> unfinished =
          new RbdCheck(settings, workers, new CheckProgress(), Set.of("default"))
              .check(io).findings().stream()
                  .filter(finding -> finding.kind() == FindingKind.CREATION_UNFINISHED)
                  .filter(finding -> entries.contains(finding.object()))
                  .toList();
      for (Finding finding : unfinished) {
        finding.repair().flatMap(Finding.Repair::mend).ifPresent(System.out::println);
      }
      return unfinished;
    }
  }
}
