package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.MirrorPart;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.testing.DriverSeat;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.replication.ControllerGrpc;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.MirroredClusters;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * Volumes that are to be promoted while their daemon has copied a part of a snapshot: the image has
 * something of two states then, and must never become the primary with that. Each object of an
 * image has the number of the state all over.
 */
@EnabledIf("io.cephcsi.testing.TestCluster#canControl")
class HalfCopyIT {
  private static final int OBJECT = 4 << 20;
  private static final int OBJECTS = 64;
  private static final long SIZE = (long) OBJECTS * OBJECT;
  private static final Duration LONGEST = Duration.ofMinutes(3);

  private static MirroredClusters clusters;
  private static TestDriver there;
  private static TestDriver here;
  private static RadosCluster cluster;
  private static IoContext io;
  private static RbdPool pool;

  private final Volume volume = there.create("volume-" + UUID.randomUUID(), SIZE);
  private final String id = volume.getVolumeId();
  private final String image = TestDriver.image(volume);

  @BeforeAll
  static void start() {
    clusters = MirroredClusters.start("half");
    // One object at a time, so that a copy and a way back can be cut off.
    clusters.second().ceph("config", "set", "client", "rbd_concurrent_management_ops", "1");
    there = TestDriver.rbd(clusters.first()).start();
    here = TestDriver.rbd(clusters.second()).start();
    cluster = clusters.second().connect();
    io = cluster.openPool(clusters.second().pool());
    pool = new RbdPool(io);
  }

  @AfterAll
  static void stop() {
    io.close();
    cluster.close();
    here.close();
    there.close();
    clusters.close();
  }

  @AfterEach
  void join() {
    clusters.first().resume();
    clusters.join();
  }

  private static void soon(Callable<Boolean> condition) {
    await()
        .atMost(LONGEST)
        .pollInterval(Duration.ofMillis(20))
        .ignoreExceptionsInstanceOf(CephException.NotFound.class)
        .until(condition);
  }

  private static TestReplication ours() {
    return TestReplication.of(here);
  }

  private static TestReplication theirs() {
    return TestReplication.of(there);
  }

  /** Writes a state on the other site. */
  private void write(int state) {
    byte[] data = new byte[OBJECT];
    Arrays.fill(data, (byte) state);
    try (RadosCluster other = clusters.first().connect();
        IoContext context = other.openPool(clusters.first().pool());
        RbdImage open = new RbdPool(context).open(image)) {
      for (int object = 0; object < OBJECTS; object++) {
        open.write((long) object * OBJECT, data);
      }
      open.flush();
    }
  }

  private void takeMirrorSnapshot() {
    try (RadosCluster other = clusters.first().connect();
        IoContext context = other.openPool(clusters.first().pool());
        RbdImage open = new RbdPool(context).open(image)) {
      assertThat(open.mirror().createSnapshot()).isPositive();
    }
  }

  /** The states that a site's image has something of; all bytes are looked at. */
  private Set<Integer> states(TestCluster ceph) {
    Set<Integer> states = new TreeSet<>();
    try (RadosCluster at = ceph.connect();
        IoContext context = at.openPool(ceph.pool());
        RbdImage open = new RbdPool(context).openReadOnly(image)) {
      for (int object = 0; object < OBJECTS; object++) {
        byte[] data = open.read((long) object * OBJECT, OBJECT);
        byte[] same = new byte[OBJECT];
        Arrays.fill(same, data[0]);
        assertThat(Arrays.equals(data, same)).as("object %d", object).isTrue();
        states.add((int) data[0]);
      }
    }
    return states;
  }

  private Set<Integer> states() {
    return states(clusters.second());
  }

  private List<MirrorPart> parts() {
    return ImageId.find(pool, image)
        .flatMap(
            imageId ->
                ImageHeader.read(io, imageId)
                    .map(header -> ImageHeader.snapshots(io, imageId, header.snapshotIds())))
        .orElse(List.of())
        .stream()
        .map(HeaderSnapshot::mirror)
        .flatMap(Optional::stream)
        .toList();
  }

  private Optional<MirrorPart> newest() {
    return parts().stream().findFirst();
  }

  private MirrorStatus status() {
    try (RbdImage copy = pool.openReadOnly(image)) {
      return copy.mirror().status();
    }
  }

  private boolean isPrimary() {
    return status().info().orElseThrow().primary();
  }

  /** State 1 is copied completely, and follows; state 2 is written there. */
  private void copyFirstState() {
    write(1);
    theirs().enable(id, Map.of());
    awaitCopied(1);
    write(2);
  }

  private void awaitCopied(int state) {
    soon(() -> newest().filter(MirrorPart::complete).isPresent());
    soon(() -> states().equals(Set.of(state)));
    soon(
        () ->
            status()
                .local()
                .filter(site -> site.isUp(MirrorSite.State.REPLAYING))
                .filter(site -> site.description().contains("\"idle\""))
                .isPresent());
  }

  /** Freezes the other site when something of a state is here, and something of the one before. */
  private void freezeHalf(int state) {
    await()
        .atMost(LONGEST)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(2))
        .until(() -> stateOf(OBJECTS / 2) == state);
    clusters.first().freeze("osd.0");
    assertThat(newest().filter(MirrorPart::half)).as("too late: all is copied").isPresent();
  }

  /** By the object of the data itself, which is quick. */
  private int stateOf(int object) {
    String imageId = ImageId.find(pool, image).orElseThrow();
    return io.read("rbd_data.%s.%016x".formatted(imageId, object), 0, 1)[0];
  }

  /** The other site is gone, and the daemon of this one with it. */
  private void lose(int state) {
    clusters.second().kill(LocalCluster.MIRROR_DAEMON);
    clusters.first().pause();
    soon(() -> status().remote().stream().noneMatch(MirrorSite::up));
    soon(() -> status().local().filter(MirrorSite::up).isEmpty());
    soon(this::isUnwatched);
    assertThat(newest().filter(MirrorPart::half)).isPresent();
    assertThat(states()).containsExactly(state - 1, state);
  }

  private boolean isUnwatched() {
    try (RbdImage copy = pool.openReadOnly(image)) {
      return copy.watchers().isEmpty();
    }
  }

  private static List<Code> repeat(Callable<Boolean> call) {
    List<Code> codes = new ArrayList<>();
    await()
        .atMost(LONGEST)
        .pollInterval(Duration.ofMillis(300))
        .until(
            () -> {
              try {
                return call.call();
              } catch (StatusRuntimeException e) {
                codes.add(e.getStatus().getCode());
                return false;
              }
            });
    return codes;
  }

  private static List<Code> repeat(Runnable call) {
    return repeat(
        () -> {
          call.run();
          return true;
        });
  }

  /** The other site comes back, and gives up what only it has. */
  private void resyncThere(int state) {
    clusters.first().resume();
    clusters.join();
    repeat(() -> theirs().demote(id, true));
    try (RadosCluster other = clusters.first().connect();
        IoContext context = other.openPool(clusters.first().pool())) {
      soon(
          () -> {
            try (RbdImage old = new RbdPool(context).openReadOnly(image)) {
              return old.mirror()
                  .status()
                  .local()
                  .filter(site -> site.isUp(MirrorSite.State.ERROR))
                  .filter(site -> site.description().contains("split-brain"))
                  .isPresent();
            }
          });
    }
    assertThat(states(clusters.first())).containsExactly(state);
    assertStatus(Code.FAILED_PRECONDITION, "split brain", () -> theirs().resync(id, false));
    repeat(() -> !theirs().resync(id, true));
    soon(() -> states(clusters.first()).equals(Set.of(1)));
  }

  @Test
  void aDemotionThatIsBeingCopiedIsWaitedFor() {
    copyFirstState();
    theirs().demote(id, false);
    soon(() -> newest().filter(MirrorPart::half).isPresent());
    clusters.first().freeze("osd.0");
    assertThat(newest().filter(MirrorPart::half)).as("too late: all is copied").isPresent();
    assertThat(code(ours(), false)).isEqualTo(Code.ABORTED);
    clusters.first().resume();
    assertThat(repeat(() -> ours().promote(id, false))).allMatch(Code.ABORTED::equals);
    assertThat(states()).containsExactly(2);
    assertThat(isPrimary()).isTrue();
  }

  /** librbd would make it the primary as it is. */
  @Test
  void aDemotionThatWasCopiedInPartIsNotPromoted() {
    copyFirstState();
    theirs().demote(id, false);
    freezeHalf(2);
    assertThat(newest().orElseThrow().kind()).isEqualTo(MirrorPart.Kind.DEMOTED_COPY);
    assertStatus(Code.ABORTED, "in part", () -> ours().promote(id, false)); // the daemon runs
    lose(2);
    assertStatus(Code.ABORTED, "in part", () -> ours().promote(id, false));
    assertStatus(Code.FAILED_PRECONDITION, "demotion", () -> ours().promote(id, true));
    assertThat(isPrimary()).isFalse();
    assertThat(states()).containsExactly(1, 2);
  }

  /** A daemon that is started again does not copy the rest on Ceph 16, and says nothing of it. */
  @Test
  void bothSitesAreNotTakenForTheSameWhileADemotionIsCopiedInPart() {
    copyFirstState();
    theirs().demote(id, false);
    freezeHalf(2);
    lose(2);
    clusters.first().resume();
    clusters.join();
    soon(
        () ->
            status().sites().size() > 1
                && status().sites().stream().allMatch(site -> site.isUp(MirrorSite.State.UNKNOWN)));
    for (int call = 0; call < 10; call++) {
      if (isReady()) {
        assertThat(states()).containsExactly(2);
      }
    }
  }

  private boolean isReady() {
    try {
      return ours().resync(id, true);
    } catch (StatusRuntimeException e) {
      assertThat(e.getStatus().getCode()).isIn(Code.ABORTED, Code.UNAVAILABLE);
      return false;
    }
  }

  /** librbd would go back to before the first copy: to an image without data. */
  @Test
  void aSecondCopyInPartIsNotPromoted() {
    copyFirstState();
    takeMirrorSnapshot();
    freezeHalf(2);
    lose(2);
    assertStatus(Code.FAILED_PRECONDITION, "no data", () -> ours().promote(id, true));
    assertThat(isPrimary()).isFalse();
    clusters.first().resume();
    clusters.join();
    awaitCopied(2);
  }

  /** A driver that dies over the way back, and another one that dies over the next attempt. */
  @Test
  void aForcedPromotionThatIsKilledIsRepeated() {
    copyFirstState();
    takeMirrorSnapshot();
    awaitCopied(2);
    write(3);
    takeMirrorSnapshot();
    freezeHalf(3);
    lose(3);
    try (DriverSeat seat =
        new DriverSeat(
            DriverConfig.Type.RBD,
            clusters.second(),
            clusters.second().rbdUser(),
            List.of(),
            "--connect-timeout=5",
            "--operation-timeout=10")) {
      TestReplication replication =
          new TestReplication(ControllerGrpc.newBlockingStub(seat.channel()), here.secrets());
      long before = orphans();
      killOver(seat, replication, () -> orphans() > before);
      assertThat(isPrimary()).as("killed too late").isFalse();
      assertThat(states()).as("killed too late").contains(3);
      killOver(seat, replication, () -> stateOf(0) == 1); // on its way back
      System.out.println("killed on the way back: " + states() + ", primary " + isPrimary());
      try (ServedProcess process = seat.start()) {
        seat.awaitReady(process);
        assertThat(repeat(() -> replication.promote(id, true)))
            .isSubsetOf(Code.ABORTED, Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED);
      }
    }
    assertThat(isPrimary()).isTrue();
    assertThat(states()).containsExactly(1); // snapshot 2 has what was there before copy 2
    resyncThere(3);
  }

  private void killOver(DriverSeat seat, TestReplication replication, Callable<Boolean> moment) {
    try (ServedProcess process = seat.start()) {
      seat.awaitReady(process);
      CompletableFuture<Code> answer = CompletableFuture.supplyAsync(() -> code(replication, true));
      await()
          .atMost(LONGEST)
          .pollDelay(Duration.ZERO)
          .pollInterval(Duration.ofMillis(1))
          .until(() -> moment.call() || answer.isDone());
      process.kill();
      System.out.println("killed: " + answer.join());
    }
  }

  private Code code(TestReplication replication, boolean force) {
    try {
      replication.promote(id, force);
      return Code.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus().getCode();
    }
  }

  private long orphans() {
    return parts().stream().filter(MirrorPart::orphan).count();
  }

  /** As in a resync: the journal has the volume, of which nothing is known without an entry yet. */
  @Test
  void whatWasNeverCopiedCompletelyIsNotPromoted() {
    write(1);
    String entry = "csi.volume." + VolumeId.parse(id).orElseThrow().uuid();
    Map<String, String> keys = new Omaps(clusters.first(), "rbd", "").of(entry);
    new Omaps(clusters.second(), "rbd", "").put(Map.of(entry, keys));
    theirs().enable(id, Map.of());
    soon(() -> newest().filter(MirrorPart::half).isPresent());
    clusters.first().freeze("osd.0");
    assertThat(newest().filter(MirrorPart::half)).as("too late: all is copied").isPresent();
    assertThat(code(ours(), false)).isEqualTo(Code.ABORTED);
    assertThat(code(ours(), true)).isEqualTo(Code.FAILED_PRECONDITION);
    assertThat(isPrimary()).isFalse();
    clusters.first().resume();
    soon(() -> newest().filter(MirrorPart::complete).isPresent());
    assertThat(states()).containsExactly(1);
  }
}
