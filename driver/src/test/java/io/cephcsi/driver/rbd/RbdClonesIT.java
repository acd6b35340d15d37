package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static io.cephcsi.driver.testing.Statuses.untilNotAborted;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerGetCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.ControllerServiceCapability.RPC;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class RbdClonesIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");
  private static final ImageContent CONTENT = new ImageContent(CLUSTER);

  @RegisterExtension static final TestDriver driver = TestDriver.rbd(CLUSTER).start();

  private String name;
  private Volume source;
  private Snapshot snapshot;

  @BeforeEach
  void source() {
    name = "pvc-" + UUID.randomUUID();
    source = driver.create(name + "-source", 64 * MIB);
    CONTENT.write(rbd(source), 7);
    snapshot = driver.snapshot(name + "-snap", source.getVolumeId());
  }

  private static String rbd(Volume volume) {
    return "rbd/" + TestDriver.image(volume);
  }

  private static String image(Snapshot snapshot) {
    return "csi-snap-" + VolumeId.parse(snapshot.getSnapshotId()).orElseThrow().uuid();
  }

  private void deleteSourceAndAwaitNothing(Volume... volumes) {
    List<String> images = new ArrayList<>(List.of(TestDriver.image(source), image(snapshot)));
    for (Volume volume : volumes) {
      driver.delete(volume.getVolumeId());
      images.add(TestDriver.image(volume));
    }
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(source.getVolumeId());
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(POOL.trash()).doesNotContainAnyElementsOf(images));
  }

  @Test
  void aVolumeFromASnapshotHasItsContentAndSaysSo() {
    Volume volume = driver.restore(name, 0, snapshot.getSnapshotId());

    assertThat(volume.getCapacityBytes()).isEqualTo(64 * MIB);
    assertThat(volume.getContentSource().getSnapshot().getSnapshotId())
        .isEqualTo(snapshot.getSnapshotId());
    assertThat(CONTENT.checksum(rbd(volume))).isEqualTo(CONTENT.checksum(rbd(source)));
    assertThat(driver.restore(name, 0, snapshot.getSnapshotId())).isEqualTo(volume);

    deleteSourceAndAwaitNothing(volume);
  }

  @Test
  void aVolumeFromAVolumeHasItsContentOfThatTimeAndSaysSo() {
    int before = CONTENT.checksum(rbd(source));
    Volume volume = driver.copy(name, 0, source.getVolumeId());
    CONTENT.write(rbd(source), 8);

    assertThat(volume.getContentSource().getVolume().getVolumeId()).isEqualTo(source.getVolumeId());
    assertThat(CONTENT.checksum(rbd(volume))).isEqualTo(before);
    assertThat(driver.copy(name, 0, source.getVolumeId())).isEqualTo(volume);

    deleteSourceAndAwaitNothing(volume);
  }

  @Test
  void theSameCallGivesTheSameVolumeAlsoWhenItHasBeenFlattened() {
    Volume volume = driver.restore(name, 0, snapshot.getSnapshotId());
    CLUSTER.rbd("flatten", rbd(volume));

    assertThat(driver.restore(name, 0, snapshot.getSnapshotId())).isEqualTo(volume);
    assertStatus(Code.ALREADY_EXISTS, () -> driver.copy(name, 0, source.getVolumeId()));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.create(name, 0));

    deleteSourceAndAwaitNothing(volume);
  }

  @Test
  void isAsLargeAsAskedForOrAsItsContent() {
    Volume larger = driver.restore(name, 96 * MIB, snapshot.getSnapshotId());
    assertThat(larger.getCapacityBytes()).isEqualTo(96 * MIB);
    assertThat(POOL.info(TestDriver.image(larger)).path("size").asLong()).isEqualTo(96 * MIB);
    Volume smaller = driver.copy(name + "-2", 32 * MIB, source.getVolumeId());
    assertThat(smaller.getCapacityBytes()).isEqualTo(64 * MIB);
    assertStatus(
        Code.OUT_OF_RANGE,
        "limit_bytes",
        () ->
            driver
                .controller()
                .createVolume(
                    driver
                        .restoreRequest(name + "-3", 0, snapshot.getSnapshotId())
                        .setCapacityRange(CapacityRange.newBuilder().setLimitBytes(32 * MIB))
                        .build()));
    assertThat(POOL.keys("csi.volumes.default")).doesNotContain("csi.volume." + name + "-3");
    deleteSourceAndAwaitNothing(larger, smaller);
  }

  @Test
  void theSameNameFromAnotherSourceIsRefused() {
    Volume restored = driver.restore(name, 0, snapshot.getSnapshotId());
    Volume copied = driver.copy(name + "-2", 0, source.getVolumeId());
    Volume empty = driver.create(name + "-3", 64 * MIB);
    Snapshot other = driver.snapshot(name + "-other", source.getVolumeId());

    assertStatus(Code.ALREADY_EXISTS, () -> driver.restore(name, 0, other.getSnapshotId()));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.copy(name, 0, source.getVolumeId()));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.create(name, 64 * MIB));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.copy(name + "-2", 0, empty.getVolumeId()));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.restore(name + "-2", 0, other.getSnapshotId()));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.restore(name + "-3", 0, other.getSnapshotId()));

    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertThat(driver.restore(name, 0, snapshot.getSnapshotId()))
        .as("a retry after the source is gone")
        .isEqualTo(restored);
    driver.deleteSnapshot(other.getSnapshotId());
    deleteSourceAndAwaitNothing(restored, copied, empty);
  }

  private static void forgetImage(Volume volume) {
    UUID uuid = VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid();
    CLUSTER.rados("-p", "rbd", "rmomapkey", "csi.volume." + uuid, "csi.imageid");
  }

  @Test
  void anUnrecordedImageOfAnotherProgramIsKeptAtEachAttempt() {
    Volume theirs = driver.create(name, 64 * MIB);
    CONTENT.write(rbd(theirs), 3);
    int content = CONTENT.checksum(rbd(theirs));
    forgetImage(theirs);
    for (int i = 0; i < 2; i++) {
      assertStatus(Code.ALREADY_EXISTS, () -> driver.create(name, 128 * MIB));
      assertStatus(Code.ALREADY_EXISTS, () -> driver.restore(name, 0, snapshot.getSnapshotId()));
      assertStatus(Code.ALREADY_EXISTS, () -> driver.copy(name, 0, source.getVolumeId()));
    }
    assertThat(CLUSTER.rbd("ls", "rbd")).doesNotContain(TestDriver.image(theirs) + "-temp");
    assertThat(driver.create(name, 64 * MIB)).isEqualTo(theirs);
    assertThat(CONTENT.checksum(rbd(theirs))).isEqualTo(content);

    Volume clone = driver.restore(name + "-r", 0, snapshot.getSnapshotId());
    CONTENT.write(rbd(clone), 4);
    int written = CONTENT.checksum(rbd(clone));
    forgetImage(clone);
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd");
        var open = new RbdPool(io).open(TestDriver.image(clone))) {
      open.write(64 * MIB - 1, new byte[] {0});
      for (int i = 0; i < 2; i++) {
        assertStatus(
            Code.FAILED_PRECONDITION,
            "in use",
            () -> driver.restore(name + "-r", 0, snapshot.getSnapshotId()));
      }
    }
    assertThat(CONTENT.checksum(rbd(clone))).isEqualTo(written);
    assertThat(driver.restore(name + "-r", 0, snapshot.getSnapshotId())).isEqualTo(clone);
    assertThat(CONTENT.checksum(rbd(clone))).isEqualTo(CONTENT.checksum(rbd(source)));
    Volume blank = driver.create(name + "-b", 64 * MIB);
    forgetImage(blank); // as a clone is that has not got its parent yet
    assertThat(driver.restore(name + "-b", 0, snapshot.getSnapshotId()).getVolumeId())
        .isEqualTo(blank.getVolumeId());
    assertThat(CONTENT.checksum(rbd(blank))).isEqualTo(CONTENT.checksum(rbd(source)));
    deleteSourceAndAwaitNothing(theirs, clone, blank);
  }

  @Test
  void aVolumeWhoseEntryWasLostIsNotTakenForOneThatIsHalfMade() {
    Volume volume = driver.create(name, 64 * MIB);
    CONTENT.write(rbd(volume), 3);
    int content = CONTENT.checksum(rbd(volume));
    String object = "csi.volume." + VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid();
    Map<String, String> entry = POOL.omap(object);
    CLUSTER.rados("-p", "rbd", "rm", object);
    String why = TestDriver.image(volume);
    assertStatus(Code.FAILED_PRECONDITION, why, () -> driver.create(name, 64 * MIB));
    assertStatus(
        Code.FAILED_PRECONDITION, why, () -> driver.restore(name, 0, snapshot.getSnapshotId()));
    assertThat(CONTENT.checksum(rbd(volume))).isEqualTo(content);
    entry.forEach((key, value) -> CLUSTER.rados("-p", "rbd", "setomapval", object, key, value));
    assertThat(driver.create(name, 64 * MIB)).isEqualTo(volume);
    deleteSourceAndAwaitNothing(volume);
  }

  @Test
  void aMissingSourceIsNotFoundAndLeavesNothing() {
    Volume gone = driver.create(name + "-gone", 64 * MIB);
    Snapshot goneSnapshot = driver.snapshot(name + "-gone", gone.getVolumeId());
    driver.deleteSnapshot(goneSnapshot.getSnapshotId());
    driver.delete(gone.getVolumeId());

    assertStatus(Code.NOT_FOUND, () -> driver.copy(name, 0, gone.getVolumeId()));
    assertStatus(Code.NOT_FOUND, () -> driver.restore(name, 0, goneSnapshot.getSnapshotId()));
    assertStatus(Code.NOT_FOUND, () -> driver.restore(name, 0, "not-an-id"));
    assertThat(POOL.keys("csi.volumes.default")).doesNotContain("csi.volume." + name);
    assertStatus(
        Code.INVALID_ARGUMENT,
        "cluster",
        () -> driver.restore(name, 0, snapshot.getSnapshotId().replace("000c-test", "000c-TEST")));
    deleteSourceAndAwaitNothing();
  }

  @Test
  void aVolumeInAnotherPoolCanComeFromASourceHere() {
    Volume restored =
        driver
            .controller()
            .createVolume(
                driver
                    .restoreRequest(name, 0, snapshot.getSnapshotId())
                    .putParameters("pool", CLUSTER.otherPool())
                    .build())
            .getVolume();
    Volume copied =
        driver
            .controller()
            .createVolume(
                driver
                    .cloneRequest(name + "-2", 0, source.getVolumeId())
                    .putParameters("pool", CLUSTER.otherPool())
                    .build())
            .getVolume();
    int content = CONTENT.checksum(rbd(source));
    assertThat(CONTENT.checksum(CLUSTER.otherPool() + "/" + TestDriver.image(restored)))
        .isEqualTo(content);
    assertThat(CONTENT.checksum(CLUSTER.otherPool() + "/" + TestDriver.image(copied)))
        .isEqualTo(content);
    deleteSourceAndAwaitNothing(restored, copied);
    PoolState other = new PoolState(CLUSTER, CLUSTER.otherPool());
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(
            () ->
                assertThat(other.trash())
                    .doesNotContain(TestDriver.image(restored), TestDriver.image(copied)));
  }

  /** As whoever may write to the other pool, and to no more, can write it. */
  private void forge(String uuid, String image, String from) {
    String object = "csi.volume." + uuid;
    new Omaps(CLUSTER, CLUSTER.otherPool(), "")
        .put(
            Map.of(
                "csi.volumes.default",
                Map.of("csi.volume." + name, uuid),
                object,
                Map.of(
                    "csi.volname",
                    name,
                    "csi.imagename",
                    image,
                    "csi.java.contentsource",
                    from,
                    "csi.java.maker",
                    "1")));
  }

  private Volume copyToOtherPool() {
    return driver
        .controller()
        .createVolume(
            driver
                .cloneRequest(name, 0, source.getVolumeId())
                .putParameters("pool", CLUSTER.otherPool())
                .build())
        .getVolume();
  }

  @Test
  void anEntryInAnotherPoolTakesNoSnapshotFromAVolumeHere() {
    Volume empty = driver.create(name + "-empty", 64 * MIB);
    UUID known = VolumeId.parse(empty.getVolumeId()).orElseThrow().uuid();
    for (String uuid : List.of(known.toString(), UUID.randomUUID().toString())) {
      CLUSTER.rbd("snap", "create", rbd(source) + "@csi-vol-" + uuid + "-temp");
    }
    String snapshots = POOL.snapshots(TestDriver.image(source)).toString();

    forge(UUID.randomUUID().toString(), "backup", source.getVolumeId());
    assertStatus(Code.FAILED_PRECONDITION, "backup", this::copyToOtherPool);
    forge(known.toString(), "csi-vol-" + known, source.getVolumeId());
    assertStatus(Code.FAILED_PRECONDITION, known.toString(), this::copyToOtherPool);
    assertThat(POOL.snapshots(TestDriver.image(source))).hasToString(snapshots);

    forge(known.toString(), "csi-vol-" + known, source.getVolumeId());
    Volume volume =
        driver
            .controller()
            .createVolume(
                driver
                    .createRequest(name, 64 * MIB)
                    .putParameters("pool", CLUSTER.otherPool())
                    .build())
            .getVolume();
    assertThat(POOL.snapshots(TestDriver.image(source))).hasToString(snapshots);
    driver.delete(volume.getVolumeId());
    CLUSTER.rbd("snap", "purge", rbd(source), "--no-progress");
    deleteSourceAndAwaitNothing(empty);
  }

  @Test
  void whatAnAttemptAtACloneInAnotherPoolLeftIsTakenAnew() {
    String uuid = UUID.randomUUID().toString();
    forge(uuid, "csi-vol-" + uuid, source.getVolumeId());
    CLUSTER.rbd("snap", "create", rbd(source) + "@csi-vol-" + uuid + "-temp");
    Volume volume = copyToOtherPool();
    assertThat(volume.getVolumeId()).endsWith(uuid);
    assertThat(CLUSTER.rbd("snap", "ls", rbd(source))).isBlank();
    deleteSourceAndAwaitNothing(volume);
  }

  @Test
  void aCopyThatSomebodyMadeOfAVolumeStaysWhateverItIsCalled() {
    Volume volume = driver.create(name, 16 * MIB);
    Volume clone = driver.restore(name + "-r", 0, snapshot.getSnapshotId());
    for (Volume each : List.of(volume, clone)) {
      String copy = rbd(each) + "-temp";
      CLUSTER.rbd("cp", rbd(each), copy, "--no-progress");
      driver.delete(each.getVolumeId());
      assertThat(POOL.images()).contains(TestDriver.image(each) + "-temp");
      CLUSTER.rbd("rm", copy, "--no-progress");
    }
    Volume other = driver.create(name + "-2", 16 * MIB);
    String theirs = TestDriver.image(other) + "-temp";
    CLUSTER.rbd("snap", "create", rbd(source) + "@theirs");
    CLUSTER.rbd("clone", "--rbd-default-clone-format=2", rbd(source) + "@theirs", "rbd/" + theirs);
    driver.delete(other.getVolumeId());
    assertThat(POOL.images()).contains(theirs);
    CLUSTER.rbd("rm", "rbd/" + theirs, "--no-progress");
    CLUSTER.rbd("snap", "rm", rbd(source) + "@theirs", "--no-progress");
    deleteSourceAndAwaitNothing(volume, clone, other);
  }

  @Test
  void theImageBetweenGoesWithAVolumeThatWasFlattened() {
    Volume flattened = driver.copy(name, 0, source.getVolumeId());
    CLUSTER.rbd("flatten", rbd(flattened), "--no-progress");
    Volume deep = driver.copy(name + "-2", 0, source.getVolumeId());
    CLUSTER.rbd("flatten", rbd(deep) + "-temp", "--no-progress");
    Volume alone = driver.copy(name + "-3", 0, source.getVolumeId());
    CLUSTER.rbd("flatten", rbd(alone) + "-temp", "--no-progress");
    CLUSTER.rbd("flatten", rbd(alone), "--no-progress");
    for (Volume each : List.of(flattened, deep, alone)) {
      assertThat(POOL.images()).contains(TestDriver.image(each) + "-temp");
      driver.delete(each.getVolumeId());
      assertThat(POOL.images()).doesNotContain(TestDriver.image(each) + "-temp");
    }
    deleteSourceAndAwaitNothing();
  }

  @Test
  void aCopyOfAnImageBetweenStays() {
    Volume volume = driver.copy(name, 0, source.getVolumeId());
    Volume other = driver.create(name + "-2", 16 * MIB);
    List<String> copies = List.of(rbd(volume) + "-temp", rbd(other) + "-temp");
    CLUSTER.rbd("flatten", rbd(volume), "--no-progress");
    CLUSTER.rbd("flatten", copies.get(0), "--no-progress");
    CLUSTER.rbd("deep", "cp", copies.get(0), copies.get(1), "--no-progress");
    CLUSTER.rbd("rm", copies.get(0), "--no-progress");
    CLUSTER.rbd("deep", "cp", copies.get(1), copies.get(0), "--no-progress");
    for (Volume each : List.of(volume, other)) {
      driver.delete(each.getVolumeId());
      assertThat(POOL.images()).contains(TestDriver.image(each) + "-temp");
    }
    copies.forEach(copy -> CLUSTER.rbd("rm", copy, "--no-progress"));
    deleteSourceAndAwaitNothing();
  }

  @Test
  void aCloneOutlivesItsSourceAndEverythingGoesWithTheLast() {
    Volume restored = driver.restore(name, 0, snapshot.getSnapshotId());
    Volume copied = driver.copy(name + "-2", 0, source.getVolumeId());
    int content = CONTENT.checksum(rbd(source));

    driver.delete(source.getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());

    assertThat(CONTENT.checksum(rbd(restored))).isEqualTo(content);
    assertThat(CONTENT.checksum(rbd(copied))).isEqualTo(content);
    Awaitility.await()
        .untilAsserted(
            () -> assertThat(POOL.trash()).contains(TestDriver.image(source), image(snapshot)));
    deleteSourceAndAwaitNothing(restored, copied);
  }

  @Test
  void severalNodesMayMountAVolumeWithContentForReading() {
    VolumeCapability readers =
        VolumeCapability.newBuilder()
            .setMount(VolumeCapability.MountVolume.getDefaultInstance())
            .setAccessMode(
                VolumeCapability.AccessMode.newBuilder().setMode(Mode.MULTI_NODE_READER_ONLY))
            .build();
    Volume volume =
        driver
            .controller()
            .createVolume(
                driver
                    .restoreRequest(name, 0, snapshot.getSnapshotId())
                    .setVolumeCapabilities(0, readers)
                    .build())
            .getVolume();
    assertStatus(
        Code.INVALID_ARGUMENT,
        "MULTI_NODE_READER_ONLY",
        () ->
            driver
                .controller()
                .createVolume(
                    driver
                        .createRequest(name + "-2", MIB)
                        .setVolumeCapabilities(0, readers)
                        .build()));
    deleteSourceAndAwaitNothing(volume);
  }

  @Test
  void saysThatItCanCloneAndSnapshot() {
    assertThat(
            driver
                .controller()
                .controllerGetCapabilities(ControllerGetCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList())
        .extracting(capability -> capability.getRpc().getType())
        .contains(RPC.Type.CREATE_DELETE_SNAPSHOT, RPC.Type.CLONE_VOLUME);
    deleteSourceAndAwaitNothing();
  }

  @Test
  void chainsOfClonesStayShort() {
    try (TestDriver bounded =
        TestDriver.rbd(CLUSTER).cloneLimits(new CloneLimits(4, 3, 450, 250)).start()) {
      List<Volume> volumes = new ArrayList<>();
      String last = source.getVolumeId();
      for (int i = 0; i < 5; i++) {
        String step = name + "-" + i;
        String from = last;
        Volume volume = untilNotAborted(Duration.ofSeconds(60), () -> bounded.copy(step, 0, from));
        assertThat(depth(TestDriver.image(volume))).isLessThanOrEqualTo(4);
        volumes.add(volume);
        last = volume.getVolumeId();
      }
      assertThat(CONTENT.checksum(rbd(volumes.get(4)))).isEqualTo(CONTENT.checksum(rbd(source)));
      Collections.reverse(volumes);
      deleteSourceAndAwaitNothing(volumes.toArray(new Volume[0]));
    }
  }

  private static int depth(String image) {
    int depth = 0;
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd")) {
      var id = ImageId.find(new RbdPool(io), image);
      while (id.isPresent()) {
        id = ImageHeader.read(io, id.get()).flatMap(ImageHeader::parent).map(ImageLink::imageId);
        depth += id.isPresent() ? 1 : 0;
      }
    }
    return depth;
  }

  @Test
  void snapshotsOfAnImageStayFew() {
    try (TestDriver bounded =
        TestDriver.rbd(CLUSTER).cloneLimits(new CloneLimits(8, 4, 4, 3)).start()) {
      List<Snapshot> snapshots = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        String step = name + "-" + i;
        snapshots.add(
            untilNotAborted(
                Duration.ofSeconds(60), () -> bounded.snapshot(step, source.getVolumeId())));
        assertThat(POOL.snapshots(TestDriver.image(source)).size()).isLessThanOrEqualTo(4);
      }
      int content = CONTENT.checksum(rbd(source));
      for (Snapshot taken : snapshots) {
        assertThat(CONTENT.checksum("rbd/" + image(taken) + "@" + image(taken))).isEqualTo(content);
        // An image that is being flattened is in use.
        Awaitility.await()
            .atMost(PoolState.MANAGER_TIME)
            .ignoreExceptions()
            .untilAsserted(() -> bounded.deleteSnapshot(taken.getSnapshotId()));
      }
      // So is the parent of one.
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .ignoreExceptions()
          .untilAsserted(() -> bounded.delete(source.getVolumeId()));
    }
    deleteSourceAndAwaitNothing();
  }

  /** Who may write to a pool could have the driver flatten clones in any other. */
  @Test
  void whatAListOfClonesNamesFalselyIsNotFlattened() {
    String other = CLUSTER.otherPool();
    String origin = other + "/origin-" + UUID.randomUUID();
    String victim = "victim-" + UUID.randomUUID();
    CLUSTER.rbd("create", origin, "--size", "8M");
    CLUSTER.rbd("snap", "create", origin + "@one", "--no-progress");
    CLUSTER.rbd("clone", "--rbd-default-clone-format=2", origin + "@one", other + "/" + victim);
    List<Snapshot> taken = new ArrayList<>(List.of(snapshot));
    for (int i = 0; i < 3; i++) {
      taken.add(driver.snapshot(name + "-" + i, source.getVolumeId()));
    }
    PoolState others = new PoolState(CLUSTER, other);
    ForgedHeaders headers = new ForgedHeaders(CLUSTER, "rbd");
    String id = POOL.info(TestDriver.image(source)).path("id").asText();
    long second;
    List<ImageLink> listed;
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd");
        var there = cluster.openPool(other)) {
      second = ImageHeader.read(io, id).orElseThrow().snapshotIds().get(2);
      listed = ImageHeader.children(io, id, second);
      List<ImageLink> clones = new ArrayList<>(listed);
      clones.add(new ImageLink(there.poolId(), "", others.info(victim).path("id").asText()));
      headers.clones(id, second, clones);
    }
    try (TestDriver bounded =
        TestDriver.rbd(CLUSTER).cloneLimits(new CloneLimits(8, 4, 450, 3)).start()) {
      taken.add(bounded.snapshot(name + "-last", source.getVolumeId()));
      Awaitility.await("the clone of the oldest snapshot, which comes after the forged list")
          .atMost(PoolState.MANAGER_TIME)
          .until(() -> depth(image(snapshot)) == 0);
    }
    assertThat(others.info(victim).has("parent")).isTrue();
    assertThat(CLUSTER.ceph("rbd", "task", "list")).doesNotContain(victim);

    headers.clones(id, second, listed);
    CLUSTER.rbd("rm", other + "/" + victim, "--no-progress");
    CLUSTER.rbd("snap", "rm", origin + "@one", "--no-progress");
    CLUSTER.rbd("rm", origin, "--no-progress");
    deleteWhenFlattened(taken);
    deleteSourceAndAwaitNothing();
  }

  /** Who may write to a pool could have the driver copy over the data of an image in any other. */
  @Test
  void aCloneThatNamesDataOfAnotherPoolIsNotFlattened() {
    String other = CLUSTER.otherPool();
    String victim = other + "/victim-" + UUID.randomUUID();
    CLUSTER.rbd("create", victim, "--size", "64M"); // nothing stands in the way of what is copied
    int content = CONTENT.checksum(victim);
    List<Snapshot> taken = new ArrayList<>(List.of(snapshot));
    for (int i = 0; i < 3; i++) {
      taken.add(driver.snapshot(name + "-" + i, source.getVolumeId()));
    }
    ForgedHeaders headers = new ForgedHeaders(CLUSTER, "rbd");
    String forged = POOL.info(image(taken.get(1))).path("id").asText();
    long own;
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd");
        var there = cluster.openPool(other)) {
      own = io.poolId();
      headers.data(
          forged,
          there.poolId(),
          new PoolState(CLUSTER, other)
              .info(victim.substring(other.length() + 1))
              .path("block_name_prefix")
              .asText());
    }
    try (TestDriver bounded =
        TestDriver.rbd(CLUSTER).cloneLimits(new CloneLimits(8, 4, 450, 3)).start()) {
      taken.add(bounded.snapshot(name + "-last", source.getVolumeId()));
      Awaitility.await("the clone of the oldest snapshot, which comes after the forged one")
          .atMost(PoolState.MANAGER_TIME)
          .until(() -> depth(image(snapshot)) == 0);
    }
    assertThat(CONTENT.checksum(victim)).isEqualTo(content);

    headers.data(forged, own, "rbd_data." + forged);
    CLUSTER.rbd("rm", victim, "--no-progress");
    deleteWhenFlattened(taken);
    deleteSourceAndAwaitNothing();
  }

  /** An image that is being flattened is in use. */
  private void deleteWhenFlattened(List<Snapshot> snapshots) {
    for (Snapshot one : snapshots) {
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .ignoreExceptions()
          .untilAsserted(() -> driver.deleteSnapshot(one.getSnapshotId()));
    }
  }
}
