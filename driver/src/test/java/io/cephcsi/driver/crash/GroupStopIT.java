package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.Reservations;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.grpc.Channel;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The driver's process is stopped at a write of a call, for longer than its lock holds, as it
 * seems: the lock is taken away. Another driver gets the repeated call and answers it; then the
 * first one goes on as if nothing had happened. What was answered stays whole. {@code
 * CEPH_CSI_TEST_CAMPAIGN=full} tries every write, before and after it; else a sample, which the
 * seed moves.
 */
class GroupStopIT extends GroupCrashCase {
  private static final ImageContent CONTENT = new ImageContent(CLUSTER);

  private final ExecutorService client = Executors.newSingleThreadExecutor();
  private TestDriver other = TestDriver.rbd(CLUSTER).withCredentials().start();
  private TestGroupSnapshots groups = new TestGroupSnapshots(other);
  private Set<String> before = Set.of();

  @BeforeEach
  void look() {
    before = POOL.everything();
  }

  @AfterEach
  void stop() {
    client.shutdownNow();
    other.close();
  }

  /** A call to the driver that is stopped. */
  private interface Call<T> {
    T send(Channel channel);
  }

  /** Stops a call at some of its writes; those of the sample it must have. */
  private static void atSomeWrites(List<String> sample, Attempt attempt) throws Exception {
    for (String fault : FULL ? List.<String>of() : sample) {
      assertThat(attempt.stops(fault + ",calls")).as(fault).isTrue();
    }
    for (String when : FULL ? List.of("before-stop,", "after-stop,") : List.<String>of()) {
      int write = 1;
      while (attempt.stops(when + write + ",calls")) {
        write++;
      }
      System.out.printf("%s%d is behind the last write%n", when, write);
    }
  }

  private static String beforeWrite(int write) {
    return "before-stop," + (write + Math.floorMod(SEED, 4L));
  }

  private interface Attempt {
    boolean stops(String fault) throws Exception;
  }

  /**
   * Sends a call to a driver that stops at a write.
   *
   * @param meanwhile done while it is stopped
   * @param late given what it answers afterwards, if it does
   * @return false if the call has not so many writes
   */
  private <T> boolean whileStopped(String fault, Call<T> call, Runnable meanwhile, Consumer<T> late)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    try (FaultyDriver faulty = FaultyDriver.start(CLUSTER, fault)) {
      Future<Optional<T>> answer =
          client.submit(
              () -> {
                try {
                  return Optional.of(call.send(faulty.channel()));
                } catch (StatusRuntimeException e) {
                  assertThat(e.getStatus().getCode())
                      .as("%s: %s", fault, e.getMessage())
                      .isIn(
                          Code.UNAVAILABLE, Code.ABORTED, Code.NOT_FOUND, Code.FAILED_PRECONDITION);
                  return Optional.empty();
                }
              });
      boolean stopped = faulty.stoppedUnless(answer::isDone);
      if (stopped) {
        forgetLocks(before);
        meanwhile.run();
        faulty.resume();
      }
      answer.get(60, TimeUnit.SECONDS).ifPresent(late);
      faulty.end(); // else the images that it removes would be in use for a while
      return stopped;
    }
  }

  private static String image(String volume) {
    return "rbd/csi-vol-" + TestGroups.uuid(volume);
  }

  private String filledVolume(String name, long seed) {
    String volume = other.create(name, 16 * MIB).getVolumeId();
    CONTENT.write(image(volume), seed);
    return volume;
  }

  private VolumeGroupSnapshot take(Channel channel, String name, String... volumes) {
    return snapshots(channel)
        .createVolumeGroupSnapshot(groups.request(name, volumes).build())
        .getGroupSnapshot();
  }

  /** Repeats the call until it is not ABORTED any more. */
  private VolumeGroupSnapshot taken(String name, String... volumes) {
    AtomicReference<VolumeGroupSnapshot> taken = new AtomicReference<>();
    whenUnused(() -> taken.set(take(other.channel(), name, volumes)));
    return taken.get();
  }

  /** It is there and can be restored, and the repeated call gives it. */
  private void assertWhole(String fault, VolumeGroupSnapshot taken, Map<String, Integer> contents) {
    assertThat(taken.getSnapshotsList())
        .as(fault)
        .extracting(Snapshot::getSourceVolumeId)
        .containsExactlyInAnyOrderElementsOf(contents.keySet());
    assertThat(
            groups
                .get(taken.getGroupSnapshotId(), TestGroupSnapshots.ids(taken))
                .getSnapshotsList())
        .as(fault)
        .containsExactlyInAnyOrderElementsOf(taken.getSnapshotsList());
    for (Snapshot snapshot : taken.getSnapshotsList()) {
      Volume restored =
          other.restore("restored-" + snapshot.getSnapshotId(), 0, snapshot.getSnapshotId());
      assertThat(CONTENT.checksum(image(restored.getVolumeId())))
          .as(fault)
          .isEqualTo(contents.get(snapshot.getSourceVolumeId()));
      other.delete(restored.getVolumeId());
    }
  }

  /** What a driver that was blocklisted left in the trash is found when another one starts. */
  private static void deleteAndSweep(VolumeGroupSnapshot taken) {
    try (TestDriver fresh = TestDriver.rbd(CLUSTER).withCredentials().start()) {
      whenUnused(() -> new TestGroupSnapshots(fresh).delete(taken));
    }
  }

  private Map<String, Integer> contents(String... volumes) {
    Map<String, Integer> contents = new HashMap<>();
    for (String volume : volumes) {
      contents.put(volume, CONTENT.checksum(image(volume)));
    }
    return contents;
  }

  @Test
  void whatAnotherDriverTookMeanwhileIsWhole() throws Exception {
    String a = filledVolume("stopped-a", 1);
    String b = filledVolume("stopped-b", 2);
    Map<String, Integer> contents = contents(a, b);
    before = POOL.everything();
    AtomicInteger count = new AtomicInteger();
    atSomeWrites(
        List.of(beforeWrite(16), beforeWrite(26)),
        fault -> {
          String name = "stopped-" + count.incrementAndGet();
          AtomicReference<VolumeGroupSnapshot> promised = new AtomicReference<>();
          boolean stopped =
              whileStopped(
                  fault,
                  channel -> take(channel, name, a, b),
                  () -> promised.set(taken(name, a, b)),
                  late ->
                      assertThat(late.getSnapshotsList())
                          .as(fault)
                          .containsExactlyInAnyOrderElementsOf(
                              taken(name, a, b).getSnapshotsList()));
          VolumeGroupSnapshot taken = taken(name, a, b);
          if (stopped) {
            assertThat(taken).as(fault).isEqualTo(promised.get());
          }
          assertWhole(fault, taken, contents);
          deleteAndSweep(taken);
          awaitNothingBut(fault, "", before);
          return stopped;
        });
    List.of(a, b).forEach(volume -> whenUnused(() -> other.delete(volume)));
  }

  /** A driver that clears up behind a dead one is stopped, and the call is repeated after all. */
  @Test
  void whatWasBeingRemovedAndIsTakenMeanwhileIsWhole() throws Exception {
    String a = filledVolume("given-up-a", 1);
    String b = filledVolume("given-up-b", 2);
    String c = filledVolume("given-up-c", 3);
    Map<String, Integer> contents = contents(a, b, c);
    before = POOL.everything();
    AtomicInteger count = new AtomicInteger();
    atSomeWrites(
        List.of(beforeWrite(16)),
        fault -> {
          String name = "given-up-" + count.incrementAndGet();
          dieOver(24, groups, before, name, a, b);
          AtomicReference<VolumeGroupSnapshot> promised = new AtomicReference<>();
          boolean stopped =
              whileStopped(
                  fault,
                  channel -> take(channel, name + "-next", b, c),
                  () -> promised.set(taken(name, a, b)),
                  late -> assertThat(late.getSnapshotsCount()).isEqualTo(2));
          VolumeGroupSnapshot first = taken(name, a, b);
          VolumeGroupSnapshot next = taken(name + "-next", b, c);
          if (stopped) {
            assertThat(first).as(fault).isEqualTo(promised.get());
          }
          assertWhole(fault, first, Map.of(a, contents.get(a), b, contents.get(b)));
          assertWhole(fault, next, Map.of(b, contents.get(b), c, contents.get(c)));
          whenUnused(() -> groups.delete(first));
          deleteAndSweep(next);
          awaitNothingBut(fault, "", before);
          return stopped;
        });
    List.of(a, b, c).forEach(volume -> whenUnused(() -> other.delete(volume)));
  }

  @Test
  void aGroupThatAnotherDriverChangedMeanwhileHasItsVolumesAlone() throws Exception {
    Scene scene = Scene.set(other);
    TestGroups volumeGroups = new TestGroups(CLUSTER, other);
    atSomeWrites(
        List.of("after-stop,3"),
        fault -> {
          assertThat(volumeGroups.modify(scene.id()).getVolumesCount()).isZero();
          boolean stopped =
              whileStopped(
                  fault,
                  channel ->
                      stub(channel)
                          .modifyVolumeGroupMembership(
                              volumeGroups.modifyRequest(scene.id(), scene.a(), scene.b()).build()),
                  () ->
                      assertThat(volumeGroups.modify(scene.id(), scene.c()).getVolumesCount())
                          .isEqualTo(1),
                  late -> assertThat(late.getVolumeGroup().getVolumesCount()).isEqualTo(2));
          if (stopped) {
            assertThat(volumeGroups.members(scene.id())).as(fault).containsExactly(scene.c());
            assertThat(volumeGroups.images(TestGroups.rbdGroup(scene.group())))
                .as(fault)
                .containsExactly("csi-vol-" + TestGroups.uuid(scene.c()));
            groups.delete(taken(scene.name() + fault, scene.c()));
          }
          return stopped;
        });
    volumeGroups.delete(scene.id());
    scene.volumes().forEach(volume -> whenUnused(() -> other.delete(volume)));
    awaitNothingBut("all", "", before);
  }

  @Test
  void aChangeThatFailsLateTakesNoMemberOut() throws Exception {
    Scene scene = Scene.set(other);
    TestGroups volumeGroups = new TestGroups(CLUSTER, other);
    boolean stopped =
        whileStopped(
            "before-stop,2,calls", // which writes the members
            channel ->
                stub(channel)
                    .modifyVolumeGroupMembership(
                        volumeGroups
                            .modifyRequest(scene.id(), scene.a(), scene.b(), scene.c())
                            .build()),
            () ->
                assertThat(
                        volumeGroups
                            .modify(scene.id(), scene.a(), scene.b(), scene.c())
                            .getVolumesCount())
                    .isEqualTo(3),
            late -> assertThat(late.getVolumeGroup().getVolumesCount()).isEqualTo(3));
    assertThat(stopped).isTrue();
    assertMembers(volumeGroups, scene.group(), scene.a(), scene.b(), scene.c());
    volumeGroups.delete(scene.id());
    awaitNothingBut("all", "", before);
  }

  @Test
  void aCreationThatFailsLateTakesNoMemberOut() throws Exception {
    String name = "late-" + UUID.randomUUID();
    String a = other.create(name + "-a", 16 * MIB).getVolumeId();
    String b = other.create(name + "-b", 16 * MIB).getVolumeId();
    TestGroups volumeGroups = new TestGroups(CLUSTER, other);
    AtomicReference<VolumeGroup> made = new AtomicReference<>();
    boolean stopped =
        whileStopped(
            "before-stop,5,calls", // which completes the entry
            channel ->
                stub(channel).createVolumeGroup(volumeGroups.createRequest(name, a, b).build()),
            () -> {
              made.set(volumeGroups.create(name, a, b));
              assertThat(volumeGroups.modify(made.get().getVolumeGroupId(), a).getVolumesCount())
                  .isEqualTo(1);
            },
            late -> assertThat(late.getVolumeGroup().getVolumesCount()).isZero());
    assertThat(stopped).isTrue();
    assertMembers(volumeGroups, made.get(), a);
    volumeGroups.delete(made.get().getVolumeGroupId());
    whenUnused(() -> other.delete(b));
    awaitNothingBut(name, "", before);
  }

  /** The one that reserved the name is stopped before it reads the version of the entry. */
  @Test
  void aCreationThatFailsRemovesNoGroupThatAnotherDriverMadeFirst() throws Exception {
    String name = "first-" + UUID.randomUUID();
    String volume = other.create(name, 16 * MIB).getVolumeId();
    String entry = "csi.volume." + TestGroups.uuid(volume);
    TestGroups volumeGroups = new TestGroups(CLUSTER, other);
    AtomicReference<VolumeGroup> made = new AtomicReference<>();
    boolean stopped =
        whileStopped(
            "after-stop,1,calls", // which makes the entry
            channel ->
                stub(channel).createVolumeGroup(volumeGroups.createRequest(name, volume).build()),
            () -> {
              made.set(volumeGroups.create(name, volume));
              CLUSTER.rados("-p", "rbd", "setomapval", entry, "csi.java.deleting", "now");
            },
            late -> assertThat(late.getVolumeGroup().getVolumesCount()).isZero());
    assertThat(stopped).isTrue();
    CLUSTER.rados("-p", "rbd", "rmomapkey", entry, "csi.java.deleting");
    assertMembers(volumeGroups, made.get(), volume);
    volumeGroups.delete(made.get().getVolumeGroupId());
    awaitNothingBut(name, "", before);
  }

  /** The journal and the RBD group have these. */
  private static void assertMembers(TestGroups groups, VolumeGroup group, String... volumes) {
    assertThat(groups.members(group.getVolumeGroupId())).containsExactlyInAnyOrder(volumes);
    assertThat(groups.images(TestGroups.rbdGroup(group)))
        .containsExactlyInAnyOrderElementsOf(
            Stream.of(volumes).map(volume -> "csi-vol-" + TestGroups.uuid(volume)).toList());
  }

  /** A driver that reserves the name of a group, makes the RBD group, and then fails. */
  private record Maker(GroupJournal journal, RbdPool pool, JournalEntry entry, long version) {
    static Maker of(IoContext io, String name, String volume) {
      GroupJournal journal = new GroupJournal("default", io, io, Reservations.FORGOTTEN);
      VolumeId member = VolumeId.parse(volume).orElseThrow();
      JournalEntry entry =
          journal.reserve(name, uuid -> "csi-vol-group-" + uuid, Map.of(member, "")).entry();
      long version = journal.version(entry.uuid());
      new RbdPool(io).createGroup(entry.name());
      return new Maker(journal, new RbdPool(io), entry, version);
    }

    OptionalLong mark() {
      return journal.markUndone(entry, version);
    }

    void remove(long marked) {
      try {
        pool.removeGroup(entry.name());
      } catch (CephException.NotFound e) {
        System.out.println("another driver has removed " + entry.name());
      }
      journal.undo(entry, marked);
    }
  }

  @Test
  void aGroupThatItsMakerUndoesMeanwhileIsNotAnswered() throws Exception {
    String name = "undone-" + UUID.randomUUID();
    String volume = other.create(name, 16 * MIB).getVolumeId();
    TestGroups volumeGroups = new TestGroups(CLUSTER, other);
    List<VolumeGroup> answered = new ArrayList<>();
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool())) {
      Maker maker = Maker.of(io, name, volume);
      AtomicReference<OptionalLong> marked = new AtomicReference<>(OptionalLong.empty());
      boolean stopped =
          whileStopped(
              "before-stop,4,calls", // which completes the entry
              channel ->
                  stub(channel)
                      .createVolumeGroup(volumeGroups.createRequest(name, volume).build())
                      .getVolumeGroup(),
              () -> marked.set(maker.mark()),
              answered::add);
      assertThat(stopped).isTrue();
      maker.remove(marked.get().orElseThrow());
    }
    assertWhole(volumeGroups, name, volume, answered);
  }

  @Test
  void aGroupWhoseMakerDiedUndoingItIsMadeAnew() {
    String name = "undone-" + UUID.randomUUID();
    String volume = other.create(name, 16 * MIB).getVolumeId();
    TestGroups volumeGroups = new TestGroups(CLUSTER, other);
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool())) {
      Maker maker = Maker.of(io, name, volume);
      long marked = maker.mark().orElseThrow();
      AtomicReference<VolumeGroup> made = new AtomicReference<>();
      whenUnused(() -> made.set(volumeGroups.create(name, volume)));
      maker.remove(marked); // it was only slow
      assertWhole(volumeGroups, name, volume, List.of(made.get()));
    }
  }

  /** ceph-csi knows no marks: it goes on with the entry, and answers. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aGroupThatCephCsiCompletedAfterItsMakerDiedUndoingItStays(boolean removed) {
    String name = "undone-" + UUID.randomUUID();
    String volume = other.create(name, 16 * MIB).getVolumeId();
    TestGroups volumeGroups = new TestGroups(CLUSTER, other);
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool())) {
      Maker maker = Maker.of(io, name, volume);
      assertThat(maker.mark()).isPresent();
      String rbdGroup = "rbd/" + maker.entry().name();
      if (removed) {
        maker.pool().removeGroup(maker.entry().name());
        CLUSTER.rbd("group", "create", rbdGroup);
      }
      CLUSTER.rbd("group", "image", "add", rbdGroup, image(volume));
      String entry = "csi.volume.group." + maker.entry().uuid();
      CLUSTER.rados("-p", "rbd", "setomapval", entry, volume, "");

      VolumeGroup made = volumeGroups.create(name, volume);
      assertThat(TestGroups.uuid(made.getVolumeGroupId())).isEqualTo(maker.entry().uuid());
      assertWhole(volumeGroups, name, volume, List.of(made));
    }
  }

  private void assertWhole(
      TestGroups volumeGroups, String name, String volume, List<VolumeGroup> answered) {
    AtomicReference<VolumeGroup> made = new AtomicReference<>();
    whenUnused(() -> made.set(volumeGroups.create(name, volume)));
    assertThat(answered).allSatisfy(group -> assertThat(group).isEqualTo(made.get()));
    assertThat(volumeGroups.images(TestGroups.rbdGroup(made.get())))
        .containsExactly("csi-vol-" + TestGroups.uuid(volume));
    assertThat(volumeGroups.members(made.get().getVolumeGroupId())).containsExactly(volume);
    whenUnused(() -> volumeGroups.delete(made.get().getVolumeGroupId()));
    awaitNothingBut(name, "", before);
  }
}
