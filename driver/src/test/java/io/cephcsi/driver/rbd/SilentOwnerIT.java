package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.TrashMark;
import io.cephcsi.bindings.cls.TrashMove;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.MirrorMode;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.testing.MirrorDaemon;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.SilentOwner;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** An image whose lock belongs to a client that lives and does nothing. */
class SilentOwnerIT {
  private static final long MIB = 1L << 20;
  private static final int OWNERS = 8; // as many slow calls as a pool may have
  private static final int CALLS = 16; // as many as the driver has threads for a cluster
  private static final int CALLS_OF_IMAGE = 4; // as many as one that is locked may have
  private static final Duration TIMEOUT = Duration.ofSeconds(3);
  private static final Duration SOON = Duration.ofSeconds(60);
  private static final String FEATURES =
      "layering,exclusive-lock,object-map,fast-diff,deep-flatten";
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");

  private static String anyName() {
    return "pvc-" + UUID.randomUUID();
  }

  private static Volume locking(TestDriver driver) {
    return driver.create(
        driver.createRequest(anyName(), 16 * MIB).putParameters("imageFeatures", FEATURES));
  }

  private static String imageId(String image) {
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool("rbd")) {
      return ImageId.find(new RbdPool(io), image).orElseThrow();
    }
  }

  private static ConditionFactory retried() {
    return Awaitility.await().atMost(SOON).ignoreExceptionsInstanceOf(StatusRuntimeException.class);
  }

  private static void assertAborted(Runnable call) {
    Awaitility.await()
        .atMost(SOON)
        .untilAsserted(() -> assertStatus(Status.Code.ABORTED, "does not answer", call::run));
  }

  @Test
  void holdsUpNoCallOnOtherVolumes() {
    Set<String> before = POOL.everything();
    ExecutorService callers = Executors.newFixedThreadPool(CALLS);
    try (TestDriver driver = TestDriver.rbd(CLUSTER).timeout(TIMEOUT).start()) {
      Volume volume = locking(driver);
      String id = volume.getVolumeId();
      String copy = anyName();
      List<String> names = IntStream.range(0, CALLS).mapToObj(i -> anyName()).toList();
      try (SilentOwner owner = new SilentOwner(CLUSTER, "rbd", imageId(TestDriver.image(volume)))) {
        List<CompletableFuture<Void>> calls =
            names.stream()
                .map(
                    name ->
                        CompletableFuture.runAsync(
                            () -> assertAborted(() -> driver.snapshot(name, id)), callers))
                .toList();
        // Once while they wait, and once they are given up.
        String meanwhile = anyName();
        Volume other = retried().until(() -> driver.create(meanwhile, 16 * MIB), made -> true);
        driver.delete(other.getVolumeId());
        calls.forEach(CompletableFuture::join);
        Volume another = driver.create(anyName(), 16 * MIB);
        driver.delete(another.getVolumeId());

        assertAborted(() -> driver.expand(id, 32 * MIB));
        assertAborted(() -> driver.copy(copy, 16 * MIB, id));
      }

      for (String name : names) {
        Snapshot snapshot = retried().until(() -> driver.snapshot(name, id), taken -> true);
        driver.deleteSnapshot(snapshot.getSnapshotId());
      }
      Volume copied = retried().until(() -> driver.copy(copy, 16 * MIB, id), made -> true);
      driver.delete(copied.getVolumeId());
      assertThat(driver.expand(id, 32 * MIB)).isEqualTo(32 * MIB);
      driver.delete(id);
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(() -> assertThat(POOL.left(before)).isEmpty());
    } finally {
      callers.shutdownNow();
    }
  }

  /** Another process that takes the lock over shuts out who may still take the snapshot. */
  @Test
  void leavesTheMarkOfAGroupSnapshotThatMayComeLate() {
    Set<String> before = POOL.everything();
    try (TestDriver driver = TestDriver.rbd(CLUSTER).timeout(TIMEOUT).start()) {
      TestGroupSnapshots groups = new TestGroupSnapshots(driver);
      Volume volume =
          driver.create(
              driver.createRequest(anyName(), 16 * MIB).putParameters("imageFeatures", FEATURES));
      String other = driver.create(anyName(), 16 * MIB).getVolumeId();
      String name = anyName();
      String entry;
      try (SilentOwner owner = new SilentOwner(CLUSTER, "rbd", imageId(TestDriver.image(volume)))) {
        Awaitility.await() // until the first call is given up
            .atMost(SOON)
            .untilAsserted(
                () ->
                    assertStatus(
                        Status.Code.ABORTED,
                        why -> assertThat(why).doesNotContain("already pending"),
                        () -> groups.take(name, volume.getVolumeId(), other)));
        entry =
            POOL.left(before).stream()
                .filter(object -> object.startsWith("csi.volume.group."))
                .findFirst()
                .orElseThrow();
        assertThat(CLUSTER.rados("-p", "rbd", "listxattr", entry)).contains("csi.java.worker.");
      }
      VolumeGroupSnapshot taken =
          retried().until(() -> groups.take(name, volume.getVolumeId(), other), made -> true);
      assertThat(CLUSTER.rados("-p", "rbd", "listxattr", entry)).doesNotContain("csi.java.worker.");
      retried().untilAsserted(() -> groups.delete(taken));
      retried().untilAsserted(() -> driver.delete(volume.getVolumeId()));
      retried().untilAsserted(() -> driver.delete(other));
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(() -> assertThat(POOL.left(before)).isEmpty());
    }
  }

  @Test
  void holdsUpNoImagesOfClientsThatAnswer() {
    ExecutorService callers = Executors.newFixedThreadPool(OWNERS);
    List<SilentOwner> owners = new ArrayList<>();
    try (TestDriver driver = TestDriver.rbd(CLUSTER).timeout(TIMEOUT).start();
        RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool("rbd")) {
      List<Volume> stuck = IntStream.range(0, OWNERS).mapToObj(i -> locking(driver)).toList();
      Volume used = locking(driver);
      List<CompletableFuture<Void>> calls = new ArrayList<>();
      Map<String, String> names = new LinkedHashMap<>();
      stuck.forEach(volume -> names.put(volume.getVolumeId(), anyName()));
      try (RbdImage open = new RbdPool(io).open(TestDriver.image(used))) {
        open.write(0, new byte[] {1});
        assertThat(open.lock().isOwner()).isTrue();
        stuck.forEach(
            volume ->
                owners.add(new SilentOwner(CLUSTER, "rbd", imageId(TestDriver.image(volume)))));
        names.forEach(
            (id, name) ->
                calls.add(
                    CompletableFuture.runAsync(
                        () -> assertAborted(() -> driver.snapshot(name, id)), callers)));
        calls.forEach(CompletableFuture::join);

        Snapshot snapshot = driver.snapshot(anyName(), used.getVolumeId());
        driver.deleteSnapshot(snapshot.getSnapshotId());
        assertThat(driver.expand(used.getVolumeId(), 32 * MIB)).isEqualTo(32 * MIB);
      }
      owners.forEach(SilentOwner::close);
      owners.clear();
      names.forEach(
          (id, name) -> {
            Snapshot snapshot = retried().until(() -> driver.snapshot(name, id), taken -> true);
            driver.deleteSnapshot(snapshot.getSnapshotId());
            driver.delete(id);
          });
      driver.delete(used.getVolumeId());
    } finally {
      owners.forEach(SilentOwner::close);
      callers.shutdownNow();
    }
  }

  @ParameterizedTest
  @EnumSource
  void changesOfMirroredImagesAreGivenUp(MirrorMode mode) {
    String name = "mirrored-" + UUID.randomUUID();
    MirrorDaemon.makePool(CLUSTER, name);
    try (RadosCluster cluster =
            RadosCluster.connect(CLUSTER.settings().operationTimeout(TIMEOUT).build());
        IoContext io = cluster.openPool(name)) {
      RbdPool pool = new RbdPool(io);
      String primary = mirrored(pool, "primary", mode);
      try (SilentOwner owner = new SilentOwner(CLUSTER, name, primary)) {
        assertGivenUp(() -> TrashMove.move(pool, "primary", primary));
        assertThat(pool.trashEntry(primary)).isEmpty();
        assertThat(TrashMark.isAnnounced(io, primary)).isTrue();
      }
      Awaitility.await()
          .atMost(SOON)
          .untilAsserted(() -> assertThat(pool.trashEntry(primary)).isPresent());
      Awaitility.await() // however late it was moved
          .atMost(SOON)
          .untilAsserted(() -> assertThat(TrashMark.isAnnounced(io, primary)).isFalse());
      assertThat(TrashMark.find(io, primary)).isPresent();
      if (mode == MirrorMode.SNAPSHOT) { // with a journal, a promotion needs no lock
        assertPromotionGivenUp(pool, mirrored(pool, "copy", mode));
      }
    }
    CLUSTER.ceph("osd", "pool", "rm", name, name, "--yes-i-really-really-mean-it");
  }

  /** Whoever moved the image within the time of the mark would seem to be a driver. */
  @Test
  void aMoveThatIsNotBegunLeavesNoMark() {
    String name = "mirrored-" + UUID.randomUUID();
    MirrorDaemon.makePool(CLUSTER, name);
    ExecutorService callers = Executors.newFixedThreadPool(CALLS_OF_IMAGE);
    try (RadosCluster cluster =
            RadosCluster.connect(CLUSTER.settings().operationTimeout(TIMEOUT).build());
        IoContext io = cluster.openPool(name)) {
      RbdPool pool = new RbdPool(io);
      String primary = mirrored(pool, "primary", MirrorMode.SNAPSHOT);
      List<CompletableFuture<Void>> calls;
      try (SilentOwner owner = new SilentOwner(CLUSTER, name, primary)) {
        calls =
            IntStream.range(0, CALLS_OF_IMAGE)
                .mapToObj(
                    i ->
                        CompletableFuture.runAsync(
                            () -> pool.moveToTrash("primary", primary, Duration.ZERO), callers))
                .toList();
        Awaitility.await().pollDelay(TIMEOUT).until(() -> true); // the calls take long by then
        assertThatThrownBy(() -> TrashMove.move(pool, "primary", primary))
            .isInstanceOfSatisfying(
                CephException.OwnerSilent.class,
                e -> assertThat(e.isUnderWay()).as(e.getMessage()).isFalse());
        assertThat(TrashMark.exists(io, primary)).isFalse();
      }
      calls.forEach(call -> Awaitility.await().atMost(SOON).until(call::isDone));
    } finally {
      callers.shutdownNow();
    }
    CLUSTER.ceph("osd", "pool", "rm", name, name, "--yes-i-really-really-mean-it");
  }

  /** A mirrored volume, whose image a client with its lock can hold up. */
  private record Mirrored(
      TestDriver driver, RbdPool pool, TestReplication replication, String id, String imageId) {
    SilentOwner silence() {
      return new SilentOwner(CLUSTER, pool.io().pool(), imageId);
    }

    void assertStays(boolean primary) {
      try (RbdImage image = pool.openByIdReadOnly(imageId)) {
        Awaitility.await()
            .during(Duration.ofSeconds(5))
            .atMost(SOON)
            .until(() -> image.mirroring().orElseThrow().primary() == primary);
      }
    }
  }

  private static void withMirrored(Consumer<Mirrored> test) {
    String name = "mirrored-" + UUID.randomUUID();
    MirrorDaemon.makePool(CLUSTER, name);
    try (TestDriver driver = TestDriver.rbd(CLUSTER).timeout(TIMEOUT).start();
        RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(name)) {
      TestReplication replication = TestReplication.of(driver);
      Volume volume =
          driver.create(
              driver
                  .createRequest(anyName(), 16 * MIB)
                  .putParameters("pool", name)
                  .putParameters("imageFeatures", FEATURES));
      String id = volume.getVolumeId();
      replication.enable(id, Map.of());
      RbdPool pool = new RbdPool(io);
      String imageId = ImageId.find(pool, TestDriver.image(volume)).orElseThrow();
      test.accept(new Mirrored(driver, pool, replication, id, imageId));
      replication.disable(id, true);
      driver.delete(id);
    }
    CLUSTER.ceph("osd", "pool", "rm", name, name, "--yes-i-really-really-mean-it");
  }

  @Test
  void aVolumeIsNotDemotedBeforeItsPromotionHasEnded() {
    withMirrored(
        of -> {
          TestReplication replication = of.replication();
          replication.demote(of.id(), false);
          try (SilentOwner owner = of.silence()) {
            assertAborted(() -> replication.promote(of.id(), false));
            assertStatus(Status.Code.ABORTED, "given up", () -> replication.demote(of.id(), false));
            assertStatus(Status.Code.ABORTED, "given up", () -> replication.demote(of.id(), true));
          }
          retried().untilAsserted(() -> replication.demote(of.id(), false));
          of.assertStays(false);
        });
  }

  @Test
  void aVolumeIsNotPromotedBeforeItsDemotionHasEnded() {
    withMirrored(
        of -> {
          TestReplication replication = of.replication();
          replication.demote(of.id(), false); // what else is changed for the first time, is
          replication.promote(of.id(), false);
          try (SilentOwner owner = of.silence()) {
            assertAborted(() -> replication.demote(of.id(), true));
            assertStatus(
                Status.Code.ABORTED, "given up", () -> replication.promote(of.id(), false));
            assertStatus(Status.Code.ABORTED, "given up", () -> replication.promote(of.id(), true));
          }
          retried().untilAsserted(() -> replication.promote(of.id(), false));
          of.assertStays(true);
        });
  }

  private static void assertPromotionGivenUp(RbdPool pool, String imageId) {
    try (RbdImage image = pool.openById(imageId)) {
      image.mirror().demote();
    }
    try (RbdImage image = pool.openById(imageId)) {
      try (SilentOwner owner = new SilentOwner(CLUSTER, pool.io().pool(), imageId)) {
        assertGivenUp(() -> image.mirror().promote(false));
      }
      Awaitility.await()
          .atMost(SOON)
          .untilAsserted(() -> assertThat(image.mirroring().orElseThrow().primary()).isTrue());
    }
  }

  private static String mirrored(RbdPool pool, String name, MirrorMode mode) {
    String spec = pool.describe(name);
    CLUSTER.rbd("create", spec, "--size", "8M", "--image-feature", FEATURES);
    if (mode == MirrorMode.JOURNAL) {
      CLUSTER.rbd("feature", "enable", spec, "journaling");
    }
    try (RbdImage image = pool.open(name)) {
      image.mirror().enable(mode);
      return image.id();
    }
  }

  private static void assertGivenUp(Runnable call) {
    assertThat(CompletableFuture.runAsync(call))
        .failsWithin(SOON)
        .withThrowableOfType(ExecutionException.class)
        .withCauseInstanceOf(CephException.OwnerSilent.class);
  }

  /** The manager carries out one task after the other, for all pools, and would wait for it. */
  @Test
  void holdsUpNoTrashWhileItsImageIsToBeFlattened() {
    CloneLimits limits = new CloneLimits(2, 1, 450, 250); // a copy of a copy needs that flattened
    try (TestDriver driver = TestDriver.rbd(CLUSTER).timeout(TIMEOUT).cloneLimits(limits).start()) {
      Volume source = locking(driver);
      Volume copy = driver.copy(anyName(), 16 * MIB, source.getVolumeId());
      String another = anyName();
      try (SilentOwner owner = new SilentOwner(CLUSTER, "rbd", imageId(TestDriver.image(copy)))) {
        assertStatus(
            Status.Code.ABORTED,
            "is being flattened",
            () -> driver.copy(another, 16 * MIB, copy.getVolumeId()));
        Volume deleted = driver.create(anyName(), 16 * MIB);
        driver.delete(deleted.getVolumeId());
        Awaitility.await()
            .atMost(SOON)
            .untilAsserted(
                () -> assertThat(POOL.trash()).doesNotContain(TestDriver.image(deleted)));
      }
      Volume last =
          retried().until(() -> driver.copy(another, 16 * MIB, copy.getVolumeId()), made -> true);
      for (Volume volume : List.of(last, copy, source)) {
        retried().untilAsserted(() -> driver.delete(volume.getVolumeId()));
      }
    }
  }

  @Test
  void holdsUpNoTrashOfOtherPools() {
    String image = "csi-vol-" + UUID.randomUUID();
    String clone = anyName();
    CLUSTER.rbd("create", "rbd/" + image, "--size", "8M", "--image-feature", FEATURES);
    CLUSTER.rbd("snap", "create", "rbd/" + image + "@" + image); // as a driver takes its own
    CLUSTER.rbd(
        "clone", "rbd/" + image + "@" + image, "rbd/" + clone, "--rbd-default-clone-format", "2");
    String id = imageId(image);
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool("rbd")) {
      TrashMove.move(new RbdPool(io), image, id);
    }
    PoolState other = new PoolState(CLUSTER, CLUSTER.otherPool());
    try (TestDriver driver = TestDriver.rbd(CLUSTER).timeout(TIMEOUT).start()) {
      try (SilentOwner owner = new SilentOwner(CLUSTER, "rbd", id)) {
        Volume here = driver.create(anyName(), 16 * MIB);
        driver.delete(here.getVolumeId()); // visits the trash
        Volume there =
            driver.create(
                driver
                    .createRequest(anyName(), 16 * MIB)
                    .putParameters("pool", CLUSTER.otherPool()));
        driver.delete(there.getVolumeId());
        Awaitility.await()
            .atMost(SOON)
            .untilAsserted(() -> assertThat(other.trash()).doesNotContain(TestDriver.image(there)));
        assertThat(POOL.trash()).contains(image);
      }
      CLUSTER.rbd("rm", "rbd/" + clone);
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(() -> assertThat(POOL.trash()).doesNotContain(image));
    }
  }
}
