package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.GetSnapshotRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsResponse.Entry;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Snapshots of {@code snapshotMode: native}. */
class NativeSnapshotsIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");
  private static final ImageContent CONTENT = new ImageContent(CLUSTER);

  @RegisterExtension
  static final TestDriver driver = TestDriver.rbd(CLUSTER).withCredentials().start();

  private static Set<String> before = Set.of();

  private String name = "";
  private Volume volume = Volume.getDefaultInstance();
  private int content;

  @BeforeAll
  static void look() {
    before = POOL.everything();
  }

  @AfterAll
  static void nothingIsLeft() {
    POOL.awaitNothingBut(before);
  }

  @BeforeEach
  void makeVolume() {
    name = "native-" + UUID.randomUUID();
    volume = driver.create(name, 16 * MIB);
    CONTENT.write("rbd/" + TestDriver.image(volume), 1);
    content = CONTENT.checksum("rbd/" + TestDriver.image(volume));
  }

  /** Each test deletes what it made, in its own order. */
  @AfterEach
  void noEntryIsLeft() {
    assertThat(POOL.keys("csi.volumes.default")).noneMatch(key -> key.contains(name));
    assertThat(POOL.keys("csi.snaps.default")).noneMatch(key -> key.contains(name));
  }

  private static Snapshot take(String name, String volumeId) {
    return driver.snapshot(
        driver.snapshotRequest(name, volumeId).putParameters("snapshotMode", "native"));
  }

  private static String snapshotName(Snapshot snapshot) {
    return "csi-snap-" + VolumeId.parse(snapshot.getSnapshotId()).orElseThrow().uuid();
  }

  private void hasContent(Volume restored) {
    assertThat(CONTENT.checksum("rbd/" + TestDriver.image(restored))).isEqualTo(content);
  }

  private static void expand(Volume volume, long bytes) {
    assertThat(driver.expand(volume.getVolumeId(), bytes)).isEqualTo(bytes);
  }

  @Test
  void staysOnTheImageAndIsRestoredWithItsContentAndSize() {
    Snapshot snapshot = take(name, volume.getVolumeId());
    assertThat(snapshot.getReadyToUse()).isTrue();
    assertThat(snapshot.getSizeBytes()).isEqualTo(16 * MIB);
    assertThat(snapshot.getSourceVolumeId()).isEqualTo(volume.getVolumeId());
    String image = TestDriver.image(volume);
    assertThat(POOL.images()).doesNotContain(snapshotName(snapshot));
    assertThat(CLUSTER.rbd("snap", "ls", "rbd/" + image)).contains(snapshotName(snapshot));
    assertThat(take(name, volume.getVolumeId())).isEqualTo(snapshot);
    assertThat(driver.snapshot(name, volume.getVolumeId()))
        .as("a snapshot stays what it is, whatever the class says later")
        .isEqualTo(snapshot);

    CONTENT.write("rbd/" + image, 2);
    expand(volume, 32 * MIB);
    Volume restored = driver.restore(name + "-r", 0, snapshot.getSnapshotId());
    assertThat(restored.getCapacityBytes()).isEqualTo(16 * MIB);
    hasContent(restored);
    assertThat(driver.restore(name + "-r", 0, snapshot.getSnapshotId())).isEqualTo(restored);
    assertThat(POOL.info(TestDriver.image(restored)).path("parent").path("image").asText())
        .isEqualTo(image);
    Volume larger = driver.restore(name + "-l", 24 * MIB, snapshot.getSnapshotId());
    assertThat(larger.getCapacityBytes()).isEqualTo(24 * MIB);

    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertThat(CLUSTER.rbd("snap", "ls", "rbd/" + image)).isBlank();
    hasContent(restored);
    List.of(restored, larger, volume).forEach(made -> driver.delete(made.getVolumeId()));
  }

  @Test
  void isListedAndGotAlsoWhenItsVolumeIsDeleted() {
    Snapshot snapshot = take(name, volume.getVolumeId());
    assertListed(snapshot);
    driver.delete(volume.getVolumeId());
    assertListed(snapshot);
    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertThat(
            driver
                .controller()
                .listSnapshots(
                    ListSnapshotsRequest.newBuilder()
                        .setSourceVolumeId(volume.getVolumeId())
                        .build())
                .getEntriesList())
        .isEmpty();
  }

  private static void assertListed(Snapshot snapshot) {
    assertThat(
            driver
                .controller()
                .getSnapshot(
                    GetSnapshotRequest.newBuilder().setSnapshotId(snapshot.getSnapshotId()).build())
                .getSnapshot())
        .isEqualTo(snapshot);
    assertThat(
            driver
                .controller()
                .listSnapshots(
                    ListSnapshotsRequest.newBuilder()
                        .setSourceVolumeId(snapshot.getSourceVolumeId())
                        .build())
                .getEntriesList())
        .extracting(Entry::getSnapshot)
        .containsExactly(snapshot);
  }

  @Test
  void itsVolumeWaitsInTheTrashUntilTheLastSnapshotIsDeleted() throws InterruptedException {
    Snapshot first = take(name + "-1", volume.getVolumeId());
    Snapshot second = take(name + "-2", volume.getVolumeId());
    String image = TestDriver.image(volume);
    driver.delete(volume.getVolumeId());
    assertThat(POOL.images()).doesNotContain(image);

    Volume restored = driver.restore(name + "-r", 0, first.getSnapshotId());
    hasContent(restored);
    assertThat(POOL.images()).as("it is back in the trash").doesNotContain(image);
    driver.deleteSnapshot(first.getSnapshotId());
    driver.delete(restored.getVolumeId());
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(POOL.trash()).contains(image));
    Thread.sleep(2000); // nothing tells that the driver will not remove it
    assertThat(POOL.trash()).contains(image);

    Volume again = driver.restore(name + "-a", 0, second.getSnapshotId());
    hasContent(again);
    driver.deleteSnapshot(second.getSnapshotId());
    hasContent(again);
    driver.delete(again.getVolumeId());
  }

  @Test
  void aDriverThatStartsDoesNotSweepItAway() throws InterruptedException {
    Snapshot snapshot = take(name, volume.getVolumeId());
    driver.delete(volume.getVolumeId());
    try (TestDriver other = TestDriver.rbd(CLUSTER).start()) {
      Volume restored = other.restore(name + "-r", 0, snapshot.getSnapshotId());
      hasContent(restored);
      Thread.sleep(2000); // nothing tells that the sweep has been here
      assertThat(POOL.trash()).contains(TestDriver.image(volume));
      other.delete(restored.getVolumeId());
    }
    driver.deleteSnapshot(snapshot.getSnapshotId());
  }

  private static void replaceImage(Volume volume) {
    String image = "rbd/" + TestDriver.image(volume);
    CLUSTER.rbd("mv", image, image + "-old");
    CLUSTER.rbd("cp", image + "-old", image, "--no-progress");
    CLUSTER.rbd("rm", image + "-old", "--no-progress");
  }

  @Test
  void ofAVolumeThatHasAnotherImageByNowItIsKeptAndRestored() {
    replaceImage(volume);
    Snapshot snapshot = take(name, volume.getVolumeId());
    assertThat(take(name, volume.getVolumeId())).isEqualTo(snapshot);
    Volume restored = driver.restore(name + "-r", 0, snapshot.getSnapshotId());
    hasContent(restored);
    driver.delete(volume.getVolumeId());
    Volume again = driver.restore(name + "-a", 0, snapshot.getSnapshotId());
    hasContent(again);
    driver.deleteSnapshot(snapshot.getSnapshotId());
    List.of(restored, again).forEach(made -> driver.delete(made.getVolumeId()));
  }

  @Test
  void aVolumeOfItsOwnCanBeClonedAndSnapshottedBesides() {
    Snapshot ours = take(name, volume.getVolumeId());
    Snapshot usual = driver.snapshot(name + "-usual", volume.getVolumeId());
    Volume copy = driver.copy(name + "-c", 0, volume.getVolumeId());
    Volume restored = driver.restore(name + "-r", 0, ours.getSnapshotId());
    Snapshot ofRestored = take(name + "-2", restored.getVolumeId());
    driver.delete(volume.getVolumeId());
    driver.delete(restored.getVolumeId());
    Volume second = driver.restore(name + "-rr", 0, ofRestored.getSnapshotId());
    hasContent(second);
    hasContent(copy);
    driver.deleteSnapshot(ours.getSnapshotId());
    driver.deleteSnapshot(usual.getSnapshotId());
    driver.deleteSnapshot(ofRestored.getSnapshotId());
    driver.delete(copy.getVolumeId());
    hasContent(second);
    driver.delete(second.getVolumeId());
  }

  @Test
  void itsVolumeStaysInTheTrashWhenItWasPutThereByHand() {
    Snapshot snapshot = take(name, volume.getVolumeId());
    String image = TestDriver.image(volume);
    String id = POOL.info(image).path("id").asText();
    CLUSTER.rbd("trash", "mv", "rbd/" + image);
    driver.deleteSnapshot(snapshot.getSnapshotId());
    // What the trash is looked at for comes one after the other.
    Volume after = driver.create(name + "-after", 16 * MIB);
    driver.delete(after.getVolumeId());
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(POOL.trash()).doesNotContain(TestDriver.image(after)));

    assertThat(POOL.trash()).contains(image);
    CLUSTER.rbd("trash", "restore", "rbd/" + id);
    hasContent(volume);
    driver.delete(volume.getVolumeId());
  }

  private static String entry(Snapshot snapshot) {
    return "csi.snap." + snapshotName(snapshot).substring("csi-snap-".length());
  }

  /** Restores an image by hand; the entry of its snapshot says what a driver had done before. */
  private static void leaveOutOfTrash(Snapshot snapshot, String state, String imageId) {
    CLUSTER.rados("-p", "rbd", "setomapval", entry(snapshot), "csi.java.outoftrash", state);
    CLUSTER.rbd("trash", "restore", "rbd/" + imageId);
  }

  @Test
  void anImageThatADriverLeftOutOfTheTrashGoesBack() {
    Snapshot snapshot = take(name, volume.getVolumeId());
    String image = TestDriver.image(volume);
    String id = POOL.info(image).path("id").asText();
    driver.delete(volume.getVolumeId());
    leaveOutOfTrash(snapshot, "restored", id);

    Volume restored = driver.restore(name + "-r", 0, snapshot.getSnapshotId());
    hasContent(restored);
    assertThat(POOL.images()).doesNotContain(image);
    assertThat(POOL.omap(entry(snapshot))).doesNotContainKey("csi.java.outoftrash");
    leaveOutOfTrash(snapshot, "restored", id);
    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertThat(POOL.images()).doesNotContain(image);
    driver.delete(restored.getVolumeId());
  }

  /** A driver died before it took the image out, or right after: nobody knows who did. */
  @Test
  void anImageThatAnAdministratorRestoredStays() throws InterruptedException {
    Snapshot snapshot = take(name, volume.getVolumeId());
    String image = TestDriver.image(volume);
    String id = POOL.info(image).path("id").asText();
    driver.delete(volume.getVolumeId());
    leaveOutOfTrash(snapshot, "true", id);

    for (String restore : List.of("-r", "-s")) {
      Volume restored = driver.restore(name + restore, 0, snapshot.getSnapshotId());
      hasContent(restored);
      driver.delete(restored.getVolumeId());
      assertThat(POOL.images()).contains(image);
    }
    driver.deleteSnapshot(snapshot.getSnapshotId());
    Thread.sleep(2000); // nothing tells that the driver will not remove it
    assertThat(POOL.images()).contains(image);
    hasContent(volume);
    awaitNoChildren(image);
    CLUSTER.rbd("rm", "rbd/" + image, "--no-progress");
  }

  private static void awaitNoChildren(String image) {
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(POOL.snapshots(image)).isEmpty());
  }

  @Test
  void anImageThatSomebodyUsesIsNotPutBack() {
    Snapshot snapshot = take(name, volume.getVolumeId());
    String image = TestDriver.image(volume);
    String id = POOL.info(image).path("id").asText();
    driver.delete(volume.getVolumeId());
    leaveOutOfTrash(snapshot, "restored", id);
    try (var connection = CLUSTER.connect();
        var io = connection.openPool("rbd");
        var open = new RbdPool(io).open(image)) {
      assertThat(open.id()).isEqualTo(id);
      Volume restored = driver.restore(name + "-r", 0, snapshot.getSnapshotId());
      hasContent(restored);
      driver.delete(restored.getVolumeId());
      assertThat(POOL.images()).contains(image);
      assertStatus(
          Code.FAILED_PRECONDITION,
          "in use",
          () -> driver.deleteSnapshot(snapshot.getSnapshotId()));
    }
    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertThat(POOL.images()).doesNotContain(image);
  }

  @Test
  void nothingIsRecordedOfAnImageThatCannotBeTakenOut() {
    Snapshot snapshot = take(name, volume.getVolumeId());
    String image = TestDriver.image(volume);
    driver.delete(volume.getVolumeId());
    CLUSTER.rbd("create", "rbd/" + image, "--size", "1M");
    assertStatus(
        Code.FAILED_PRECONDITION,
        image,
        () -> driver.restore(name + "-r", 0, snapshot.getSnapshotId()));
    assertThat(POOL.omap(entry(snapshot))).doesNotContainKey("csi.java.outoftrash");
    CLUSTER.rbd("rm", "rbd/" + image, "--no-progress");
    Volume restored = driver.restore(name + "-r", 0, snapshot.getSnapshotId());
    hasContent(restored);
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(restored.getVolumeId());
  }

  @Test
  void isTakenOfAVolumeThatIsInUse() {
    try (var connection = CLUSTER.connect();
        var io = connection.openPool("rbd");
        var open = new RbdPool(io).open(TestDriver.image(volume))) {
      open.write(0, new byte[] {1});
      Snapshot snapshot = take(name, volume.getVolumeId());
      open.write(0, new byte[] {2});
      driver.deleteSnapshot(snapshot.getSnapshotId());
    }
    driver.delete(volume.getVolumeId());
  }

  @Test
  void oneWhoseEntryWasLostIsNotTakenForOneThatIsHalfMade() {
    Snapshot snapshot = take(name, volume.getVolumeId());
    String taken = POOL.snapshots(TestDriver.image(volume)).toString();
    String uuid = VolumeId.parse(snapshot.getSnapshotId()).orElseThrow().uuid().toString();
    Map<String, String> entry = POOL.omap("csi.snap." + uuid);
    CLUSTER.rados("-p", "rbd", "rm", "csi.snap." + uuid);
    assertStatus(Code.FAILED_PRECONDITION, uuid, () -> take(name, volume.getVolumeId()));
    assertStatus(Code.FAILED_PRECONDITION, uuid, () -> driver.snapshot(name, volume.getVolumeId()));
    assertThat(POOL.snapshots(TestDriver.image(volume))).hasToString(taken);
    entry.forEach(
        (key, value) -> CLUSTER.rados("-p", "rbd", "setomapval", "csi.snap." + uuid, key, value));
    assertThat(take(name, volume.getVolumeId())).isEqualTo(snapshot);
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
  }

  @Test
  void whatCannotBeIsRefused() {
    var request = driver.snapshotRequest(name, volume.getVolumeId());
    assertStatus(
        Code.INVALID_ARGUMENT,
        "snapshotMode",
        () ->
            driver
                .controller()
                .createSnapshot(request.clone().putParameters("snapshotMode", "thick").build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        CLUSTER.otherPool(),
        () ->
            driver
                .controller()
                .createSnapshot(
                    request
                        .clone()
                        .putParameters("snapshotMode", "native")
                        .putParameters("pool", CLUSTER.otherPool())
                        .build()));
    driver.delete(volume.getVolumeId());
  }

  @Test
  void moreThanTheLimitAreRefused() {
    CloneLimits limits = new CloneLimits(8, 4, 3, 2);
    try (TestDriver strict = TestDriver.rbd(CLUSTER).cloneLimits(limits).start()) {
      List<Snapshot> taken =
          List.of(
              take(name + "-1", volume.getVolumeId()),
              take(name + "-2", volume.getVolumeId()),
              take(name + "-3", volume.getVolumeId()));
      assertStatus(
          Code.RESOURCE_EXHAUSTED,
          "3 native snapshots",
          () ->
              strict
                  .controller()
                  .createSnapshot(
                      strict
                          .snapshotRequest(name + "-4", volume.getVolumeId())
                          .putParameters("snapshotMode", "native")
                          .build()));
      taken.forEach(snapshot -> strict.deleteSnapshot(snapshot.getSnapshotId()));
      strict.delete(volume.getVolumeId());
    }
  }

  /** It has another id then, and so have its snapshots. */
  private static void migrate(String image) {
    CLUSTER.rbd("migration", "prepare", "rbd/" + image);
    CLUSTER.rbd("migration", "execute", "--no-progress", "rbd/" + image);
    CLUSTER.rbd("migration", "commit", "--no-progress", "rbd/" + image);
  }

  @Test
  void itIsOnTheImageThatAMigrationOfItsVolumeMade() {
    String image = TestDriver.image(volume);
    Snapshot first = take(name + "-1", volume.getVolumeId());
    Snapshot second = take(name + "-2", volume.getVolumeId());
    String before = POOL.info(image).path("id").asText();
    migrate(image);
    String id = POOL.info(image).path("id").asText();
    assertThat(id).isNotEqualTo(before);

    Volume restored = driver.restore(name + "-r", 0, second.getSnapshotId());
    hasContent(restored);
    assertThat(POOL.omap(entry(second))).containsEntry("csi.java.nativeimage", id);
    assertThat(driver.controller().getSnapshot(get(first)).getSnapshot().getSizeBytes())
        .isEqualTo(16 * MIB);
    assertThat(take(name + "-1", volume.getVolumeId()).getSnapshotId())
        .isEqualTo(first.getSnapshotId());
    driver.deleteSnapshot(second.getSnapshotId());
    driver.deleteSnapshot(first.getSnapshotId());
    assertThat(CLUSTER.rbd("snap", "ls", "rbd/" + image)).isBlank();
    hasContent(restored);
    List.of(restored, volume).forEach(made -> driver.delete(made.getVolumeId()));
  }

  private static GetSnapshotRequest get(Snapshot snapshot) {
    return GetSnapshotRequest.newBuilder().setSnapshotId(snapshot.getSnapshotId()).build();
  }

  @Test
  void itOutlivesTheDeletionOfAVolumeThatWasMigrated() {
    String image = TestDriver.image(volume);
    Snapshot restoredOnce = take(name + "-1", volume.getVolumeId());
    Snapshot deletedOnly = take(name + "-2", volume.getVolumeId());
    migrate(image);
    driver.delete(volume.getVolumeId());
    // What the trash is looked at for comes one after the other.
    Volume after = driver.create(name + "-after", 16 * MIB);
    driver.delete(after.getVolumeId());
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(POOL.trash()).doesNotContain(TestDriver.image(after)));

    Volume restored = driver.restore(name + "-r", 0, restoredOnce.getSnapshotId());
    hasContent(restored);
    assertThat(POOL.trash()).as("it is back in the trash").contains(image);
    driver.deleteSnapshot(deletedOnly.getSnapshotId());
    driver.deleteSnapshot(restoredOnce.getSnapshotId());
    hasContent(restored);
    driver.delete(restored.getVolumeId()); // then all are gone, see nothingIsLeft
  }
}
