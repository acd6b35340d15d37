package io.cephcsi.driver.crash;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.proto.addons.volumegroup.DeleteVolumeGroupRequest;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.grpc.Channel;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A driver is stopped in a call on a group, and another one changes the group. What is answered as
 * taken out of a volume group, or as put in, does not go with it. A call that cannot go on is
 * ABORTED, so that the CO repeats it.
 */
class GroupConflictIT extends GroupCrashCase {
  private static final String STEPS = "before-step,1,calls";
  private static final String MARK = "csi.java.deleting";

  private final ExecutorService clients = Executors.newFixedThreadPool(2);
  private TestDriver other = TestDriver.rbd(CLUSTER).withCredentials().start();
  private TestGroups groups = new TestGroups(CLUSTER, other);
  private Set<String> before = Set.of();

  @BeforeEach
  void look() {
    before = POOL.everything();
  }

  @AfterEach
  void stop() {
    clients.shutdownNow();
    other.close();
  }

  private static boolean hasEntry(String volume) {
    return POOL.objects().contains("csi.volume." + TestGroups.uuid(volume));
  }

  private static void awaitUnwatched(List<String> volumes) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(90))
        .until(
            () ->
                volumes.stream()
                    .allMatch(
                        volume ->
                            CLUSTER
                                .rbd("status", CLUSTER.pool() + "/" + image(volume))
                                .contains("Watchers: none")));
  }

  private static String image(String volume) {
    return "csi-vol-" + TestGroups.uuid(volume);
  }

  private Future<Code> send(Runnable call) {
    return clients.submit(
        () -> {
          try {
            call.run();
            return Code.OK;
          } catch (StatusRuntimeException e) {
            return e.getStatus().getCode();
          }
        });
  }

  private Future<Code> delete(Channel channel, String group) {
    DeleteVolumeGroupRequest request =
        DeleteVolumeGroupRequest.newBuilder()
            .setVolumeGroupId(group)
            .putAllSecrets(other.secrets())
            .build();
    return send(() -> assertThat(stub(channel).deleteVolumeGroup(request)).isNotNull());
  }

  private Future<Code> modify(Channel channel, String group, String... volumes) {
    return send(
        () ->
            assertThat(
                    stub(channel)
                        .modifyVolumeGroupMembership(groups.modifyRequest(group, volumes).build()))
                .isNotNull());
  }

  private static Code end(FaultyDriver faulty, Future<Code> call) throws Exception {
    faulty.resume();
    assertThat(faulty.stepsTo(() -> false, call::isDone)).isFalse();
    Code code = call.get(60, TimeUnit.SECONDS);
    faulty.end();
    return code;
  }

  /** It has looked at both volumes before their deletion began, and finds the one gone after it. */
  @Test
  void aChangeThatADeletionOvertookIsRefused() throws Exception {
    Scene scene = Scene.set(other);
    List<String> members = Stream.of(scene.a(), scene.b()).sorted().toList();
    try (FaultyDriver changing = FaultyDriver.start(CLUSTER, "before-stop,1,calls")) {
      Future<Code> change = modify(changing.channel(), scene.id(), members.get(1));
      assertThat(changing.stoppedUnless(change::isDone)).isTrue();
      awaitUnwatched(members); // what it looked at, it may have been closing
      // Not before: a driver without calls prepares itself, which is a call that stops, too.
      try (FaultyDriver deleting = FaultyDriver.start(CLUSTER, STEPS)) {
        Future<Code> deletion = delete(deleting.channel(), scene.id());
        assertThat(deleting.stepsTo(() -> !hasEntry(members.get(0)), deletion::isDone)).isTrue();
        assertThat(POOL.images())
            .doesNotContain(image(members.get(0)))
            .contains(image(members.get(1)));

        assertThat(end(changing, change)).isEqualTo(Code.ABORTED);
        assertThat(end(deleting, deletion)).isEqualTo(Code.OK);
      }
    }
    assertThat(POOL.images()).doesNotContain(image(scene.a()), image(scene.b()));
    whenUnused(() -> other.delete(scene.c()));
    awaitNothingBut("all", "", before);
  }

  /** No volume is left in it: only its own mark tells that it is being deleted. */
  @Test
  void aGroupThatIsBeingDeletedTakesNoVolume() throws Exception {
    Scene scene = Scene.set(other);
    groups.modify(scene.id(), scene.a());
    try (FaultyDriver deleting = FaultyDriver.start(CLUSTER, STEPS)) {
      Future<Code> deletion = delete(deleting.channel(), scene.id());
      assertThat(deleting.stepsTo(() -> !hasEntry(scene.a()), deletion::isDone)).isTrue();
      assertThat(groups.exists(TestGroups.rbdGroup(scene.group()))).isTrue();

      assertStatus(Code.ABORTED, "is being deleted", () -> groups.modify(scene.id(), scene.c()));
      assertStatus(Code.ABORTED, "is being deleted", () -> groups.modify(scene.id()));
      assertStatus(Code.ABORTED, "is being deleted", () -> groups.create(scene.name(), scene.c()));
      assertThat(end(deleting, deletion)).isEqualTo(Code.OK);
    }
    List.of(scene.b(), scene.c()).forEach(volume -> whenUnused(() -> other.delete(volume)));
    awaitNothingBut("all", "", before);
  }

  /** The deletion has read the members, and not marked the group yet. */
  @Test
  void aDeletionThatAChangeOvertookIsRefused() throws Exception {
    Scene scene = Scene.set(other);
    groups.modify(scene.id());
    try (FaultyDriver deleting = FaultyDriver.start(CLUSTER, "before-stop,1,calls")) {
      Future<Code> deletion = delete(deleting.channel(), scene.id());
      assertThat(deleting.stoppedUnless(deletion::isDone)).isTrue();
      groups.modify(scene.id(), scene.c());
      assertThat(end(deleting, deletion)).isEqualTo(Code.ABORTED);
    }
    assertThat(groups.members(scene.id())).containsExactly(scene.c());
    assertThat(groups.images(TestGroups.rbdGroup(scene.group()))).containsExactly(image(scene.c()));
    groups.delete(scene.id());
    List.of(scene.a(), scene.b()).forEach(volume -> whenUnused(() -> other.delete(volume)));
    awaitNothingBut("all", "", before);
  }

  @Test
  void aGroupWhoseDeletionFailedCanBeChanged() throws Exception {
    Scene scene = Scene.set(other);
    groups.modify(scene.id(), scene.a());
    String entry = "csi.volume.group." + TestGroups.uuid(scene.id());
    try (FaultyDriver deleting = FaultyDriver.start(CLUSTER, STEPS);
        RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool())) {
      Future<Code> deletion = delete(deleting.channel(), scene.id());
      assertThat(deleting.stepsTo(() -> hasMark(entry), deletion::isDone)).isTrue();
      try (RbdImage opened = new RbdPool(io).open(image(scene.a()))) {
        assertThat(end(deleting, deletion)).as("%s is open", opened).isNotEqualTo(Code.OK);
      }
    }
    assertThat(hasMark(entry)).isFalse();
    assertThat(groups.members(scene.id())).containsExactly(scene.a());
    groups.modify(scene.id());
    groups.delete(scene.id());
    scene.volumes().forEach(volume -> whenUnused(() -> other.delete(volume)));
    awaitNothingBut("all", "", before);
  }

  /**
   * The CO repeats the deletion with another driver, while the first one is slow. What a change was
   * answered to have taken out does not go with the group.
   */
  @Test
  void aDeletionThatFailsLeavesTheMarksOfAnother() throws Exception {
    Scene scene = Scene.set(other);
    groups.modify(scene.id(), scene.a(), scene.b(), scene.c());
    List<String> members = scene.volumes().stream().sorted().toList();
    String entry = TestGroups.journalObject(scene.id());
    try (FaultyDriver slow = FaultyDriver.start(CLUSTER, STEPS);
        RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool())) {
      Future<Code> deletion = delete(slow.channel(), scene.id());
      assertThat(slow.stepsTo(() -> !hasEntry(members.get(0)), deletion::isDone)).isTrue();
      long marked = version(io, entry);
      try (FaultyDriver failing = FaultyDriver.start(CLUSTER, STEPS)) {
        Future<Code> repeated = delete(failing.channel(), scene.id());
        assertThat(failing.stepsTo(() -> version(io, entry) != marked, repeated::isDone)).isTrue();
        try (RbdImage opened = new RbdPool(io).open(image(members.get(1)))) {
          assertThat(end(failing, repeated))
              .as("%s is open", opened)
              .isEqualTo(Code.FAILED_PRECONDITION);
        }
      }
      assertThat(hasMark(entry)).isTrue();
      assertThat(members.subList(1, 3)).allMatch(GroupConflictIT::isBeingDeleted);
      Future<Code> change = modify(other.channel(), scene.id(), members.get(1));
      assertThat(change.get(60, TimeUnit.SECONDS)).isEqualTo(Code.ABORTED);
      assertThat(end(slow, deletion)).as("another one has marked it").isEqualTo(Code.ABORTED);
    }
    assertThat(POOL.images()).contains(image(members.get(2)));
    whenUnused(() -> groups.delete(scene.id()));
    assertThat(members).noneMatch(GroupConflictIT::hasEntry);
    awaitNothingBut("all", "", before);
  }

  /** Nothing tells a driver that died from one that is slow. */
  @Test
  void aGroupWhoseDeletionDiedStaysMarkedWhenTheRepeatedOneFails() throws Exception {
    Scene scene = Scene.set(other);
    groups.modify(scene.id(), scene.a());
    String entry = TestGroups.journalObject(scene.id());
    Future<Code> deletion;
    try (FaultyDriver dying = FaultyDriver.start(CLUSTER, STEPS)) {
      deletion = delete(dying.channel(), scene.id());
      assertThat(dying.stepsTo(() -> hasMark(entry), deletion::isDone)).isTrue();
    }
    assertThat(deletion.get(60, TimeUnit.SECONDS)).isNotEqualTo(Code.OK);
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage opened = new RbdPool(io).open(image(scene.a()))) {
      assertThat(opened.size()).isEqualTo(16 * MIB);
      assertStatus(
          Code.FAILED_PRECONDITION,
          "until DeleteVolumeGroup succeeds",
          () -> groups.delete(scene.id()));
    }
    assertThat(hasMark(entry)).isTrue();
    assertThat(isBeingDeleted(scene.a())).isTrue();
    assertStatus(
        Code.ABORTED,
        "repeat DeleteVolumeGroup until it succeeds",
        () -> groups.modify(scene.id()));

    // As the reference says, for who wants to keep the volumes.
    CLUSTER.rados("-p", "rbd", "rmxattr", entry, MARK);
    CLUSTER.rados("-p", "rbd", "rmomapkey", "csi.volume." + TestGroups.uuid(scene.a()), MARK);
    groups.modify(scene.id());
    assertThat(POOL.images()).contains(image(scene.a()));
    groups.delete(scene.id());
    scene.volumes().forEach(volume -> whenUnused(() -> other.delete(volume)));
    awaitNothingBut("all", "", before);
  }

  private static long version(IoContext io, String object) {
    try (ReadOperation read = new ReadOperation()) {
      return io.operateVersioned(object, read.assertExists());
    }
  }

  private static boolean isBeingDeleted(String volume) {
    return POOL.omap("csi.volume." + TestGroups.uuid(volume)).containsKey(MARK);
  }

  private static boolean hasMark(String entry) {
    return CLUSTER.rados("-p", "rbd", "listxattr", entry).contains(MARK);
  }

  /** Its group, or its snapshot, is not as the call has left it. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aGroupSnapshotThatAnotherDriverDisturbsIsAborted(boolean removed) throws Exception {
    Scene scene = Scene.set(other);
    groups.modify(scene.id());
    Set<String> known = rbdGroups();
    TestGroupSnapshots snapshots = new TestGroupSnapshots(other);
    try (FaultyDriver taking = FaultyDriver.start(CLUSTER, STEPS)) {
      Future<Code> taken =
          send(
              () ->
                  assertThat(
                          snapshots(taking.channel())
                              .createVolumeGroupSnapshot(take(scene, groups, scene.a(), scene.b())))
                      .isNotNull());
      assertThat(taking.stepsTo(() -> hasBoth(newGroups(known)), taken::isDone)).isTrue();
      String group = newGroups(known).iterator().next();
      String path = "rbd/" + group;
      assertThat(CLUSTER.rbd("group", "snap", "list", path)).doesNotContain(group);
      if (removed) {
        CLUSTER.rbd("group", "rm", path);
      } else {
        CLUSTER.rbd("group", "snap", "create", path + "@" + group);
      }
      assertThat(end(taking, taken)).isEqualTo(Code.ABORTED);
    }
    AtomicReference<VolumeGroupSnapshot> made = new AtomicReference<>();
    whenUnused(() -> made.set(snapshots.take(scene.name() + "-snapshot", scene.a(), scene.b())));
    assertThat(made.get().getSnapshotsCount()).isEqualTo(2);
    whenUnused(() -> snapshots.delete(made.get()));
    groups.delete(scene.id());
    scene.volumes().forEach(volume -> whenUnused(() -> other.delete(volume)));
    awaitNothingBut("all", "", before);
  }

  private boolean hasBoth(Set<String> made) {
    return made.size() == 1 && groups.images(made.iterator().next()).size() == 2;
  }

  private static Set<String> newGroups(Set<String> known) {
    Set<String> made = rbdGroups();
    made.removeAll(known);
    return made;
  }

  private static Set<String> rbdGroups() {
    return new TreeSet<>(List.of(CLUSTER.rbd("group", "list", "rbd").split("\\s+", -1)));
  }
}
