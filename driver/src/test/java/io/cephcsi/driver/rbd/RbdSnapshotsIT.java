package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class RbdSnapshotsIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");
  private static final ImageContent CONTENT = new ImageContent(CLUSTER);

  private static final List<String> DELETED = new ArrayList<>();

  @RegisterExtension static final TestDriver driver = TestDriver.rbd(CLUSTER).start();

  private String name;

  @BeforeEach
  void name() {
    name = "snap-" + UUID.randomUUID();
  }

  /** Images that were deleted; the manager takes a while for each that is in the trash. */
  private static void assertDeleted(String... images) {
    DELETED.addAll(List.of(images));
    assertThat(POOL.images()).doesNotContain(images);
  }

  @AfterAll
  static void nothingIsLeft() {
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(POOL.trash()).doesNotContainAnyElementsOf(DELETED));
  }

  @Test
  void holdsTheContentOfItsTime() {
    Volume volume = driver.create(name, 64 * MIB);
    String source = "rbd/" + TestDriver.image(volume);
    CONTENT.write(source, 1);
    int before = CONTENT.checksum(source);
    Instant asked = Instant.now();

    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());
    CONTENT.write(source, 2);

    assertThat(snapshot.getReadyToUse()).isTrue();
    assertThat(snapshot.getSizeBytes()).isEqualTo(64 * MIB);
    assertThat(snapshot.getSourceVolumeId()).isEqualTo(volume.getVolumeId());
    assertThat(Instant.ofEpochSecond(snapshot.getCreationTime().getSeconds()))
        .isBetween(asked.minusSeconds(2), Instant.now().plusSeconds(2));
    String image = TestDriver.image(snapshot);
    assertThat(CONTENT.checksum("rbd/" + image + "@" + image)).isEqualTo(before);
    assertThat(CONTENT.checksum(source)).isNotEqualTo(before);

    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
    assertDeleted(image, TestDriver.image(volume));
    assertThat(POOL.keys("csi.snaps.default")).doesNotContain("csi.snap." + name);
  }

  @Test
  void theSameNameGivesTheSameSnapshotAndAnotherSourceIsRefused() {
    Volume volume = driver.create(name, 64 * MIB);
    Volume other = driver.create(name + "-other", 64 * MIB);
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());

    assertThat(driver.snapshot(name, volume.getVolumeId())).isEqualTo(snapshot);
    assertStatus(Code.ALREADY_EXISTS, name, () -> driver.snapshot(name, other.getVolumeId()));

    driver.deleteSnapshot(snapshot.getSnapshotId());
    Snapshot again = driver.snapshot(name, other.getVolumeId());
    assertThat(again.getSnapshotId()).isNotEqualTo(snapshot.getSnapshotId());
    driver.deleteSnapshot(again.getSnapshotId());
    driver.delete(volume.getVolumeId());
    driver.delete(other.getVolumeId());
  }

  @Test
  void whatAnotherDriverEncryptsIsNotCopied() {
    Volume volume = driver.create(name, 64 * MIB);
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());
    String key = "csi.volume.encryptKMS";
    List<String> objects =
        List.of(
            "csi.volume." + VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid(),
            "csi.snap." + VolumeId.parse(snapshot.getSnapshotId()).orElseThrow().uuid());
    for (String object : objects) {
      CLUSTER.rados("-p", "rbd", "setomapval", object, key, "a-kms");
    }
    String why = "encrypted";
    assertStatus(
        Code.FAILED_PRECONDITION, why, () -> driver.snapshot(name + "-2", volume.getVolumeId()));
    assertStatus(
        Code.INVALID_ARGUMENT, why, () -> driver.copy(name + "-c", 0, volume.getVolumeId()));
    assertStatus(
        Code.INVALID_ARGUMENT, why, () -> driver.restore(name + "-r", 0, snapshot.getSnapshotId()));
    assertThat(POOL.keys("csi.volumes.default")).noneMatch(k -> k.contains(name + "-"));
    assertThat(POOL.keys("csi.snaps.default")).noneMatch(k -> k.contains(name + "-"));
    assertStatus(
        Code.FAILED_PRECONDITION,
        "KMS a-kms is not configured",
        () -> driver.deleteSnapshot(snapshot.getSnapshotId()));
    for (String object : objects) {
      CLUSTER.rados("-p", "rbd", "rmomapkey", object, key);
    }
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
  }

  private static void giveUpHalf(Snapshot snapshot) {
    String object = "csi.snap." + VolumeId.parse(snapshot.getSnapshotId()).orElseThrow().uuid();
    CLUSTER.rados("-p", "rbd", "rmomapkey", object, "csi.imageid");
    CLUSTER.rados("-p", "rbd", "setomapval", object, "csi.java.maker", "1");
    CLUSTER.rados("-p", "rbd", "setomapval", object, "csi.java.deleting", "2026-01-01T00:00Z 1");
  }

  @Test
  void anAttemptThatDiedWhileItWasTakenBackIsEnded() {
    Volume volume = driver.create(name, 64 * MIB);
    Snapshot half = driver.snapshot(name, volume.getVolumeId());
    giveUpHalf(half);
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());
    assertThat(snapshot.getSnapshotId()).isNotEqualTo(half.getSnapshotId());
    assertDeleted(TestDriver.image(half));
    assertThat(driver.snapshot(name, volume.getVolumeId())).isEqualTo(snapshot);

    giveUpHalf(snapshot);
    driver.delete(volume.getVolumeId());
    assertStatus(Code.NOT_FOUND, () -> driver.snapshot(name, volume.getVolumeId()));
    assertDeleted(TestDriver.image(snapshot), TestDriver.image(volume));
    assertThat(POOL.keys("csi.snaps.default")).doesNotContain("csi.snap." + name);
  }

  @Test
  void isGivenAgainWhenItsVolumeIsDeletedMeanwhile() {
    Volume volume = driver.create(name, 64 * MIB);
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());
    driver.delete(volume.getVolumeId());
    assertThat(driver.snapshot(name, volume.getVolumeId())).isEqualTo(snapshot);
    assertStatus(Code.NOT_FOUND, () -> driver.snapshot(name + "-new", volume.getVolumeId()));
    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertStatus(Code.NOT_FOUND, () -> driver.snapshot(name, volume.getVolumeId()));
  }

  @Test
  void outlivesItsSource() {
    Volume volume = driver.create(name, 64 * MIB);
    String source = "rbd/" + TestDriver.image(volume);
    CONTENT.write(source, 3);
    int content = CONTENT.checksum(source);
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());

    driver.delete(volume.getVolumeId());

    assertThat(POOL.images()).doesNotContain(TestDriver.image(volume));
    Volume restored = driver.restore(name + "-restored", 0, snapshot.getSnapshotId());
    assertThat(CONTENT.checksum("rbd/" + TestDriver.image(restored))).isEqualTo(content);
    driver.delete(restored.getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertDeleted(TestDriver.image(volume), TestDriver.image(restored), TestDriver.image(snapshot));
  }

  @Test
  void livesInThePoolAndUnderThePrefixOfItsClass() {
    Volume volume = driver.create(name, 64 * MIB);
    Snapshot snapshot =
        driver.snapshot(
            driver
                .snapshotRequest(name, volume.getVolumeId())
                .putParameters("pool", CLUSTER.otherPool())
                .putParameters("snapshotNamePrefix", "nightly-"));
    String image = "nightly-" + VolumeId.parse(snapshot.getSnapshotId()).orElseThrow().uuid();
    PoolState other = new PoolState(CLUSTER, CLUSTER.otherPool());
    assertThat(other.images()).contains(image);

    Volume restored = driver.restore(name + "-restored", 0, snapshot.getSnapshotId());
    assertThat(POOL.info(TestDriver.image(restored)).path("parent").path("pool").asText())
        .isEqualTo(CLUSTER.otherPool());

    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
    driver.delete(restored.getVolumeId());
    assertDeleted(TestDriver.image(volume), TestDriver.image(restored));
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(other.trash()).doesNotContain(image));
  }

  /** As whoever may write to the other pool, and to no more, can write it. */
  private void forge(String uuid, String image, Volume source, Map<String, String> more) {
    Map<String, String> entry = new HashMap<>(more);
    entry.put("csi.snapname", name);
    entry.put("csi.imagename", image);
    entry.put("csi.source", TestDriver.image(source));
    entry.put("csi.java.maker", "1");
    new Omaps(CLUSTER, CLUSTER.otherPool(), "")
        .put(
            Map.of(
                "csi.snaps.default", Map.of("csi.snap." + name, uuid), "csi.snap." + uuid, entry));
  }

  private Snapshot snapshotInOtherPool(Volume volume) {
    return driver.snapshot(
        driver
            .snapshotRequest(name, volume.getVolumeId())
            .putParameters("pool", CLUSTER.otherPool()));
  }

  @Test
  void anEntryInAnotherPoolTakesNoSnapshotFromItsVolume() {
    Volume volume = driver.create(name, 16 * MIB);
    String image = "rbd/" + TestDriver.image(volume);
    Snapshot taken =
        driver.snapshot(
            driver
                .snapshotRequest(name + "-native", volume.getVolumeId())
                .putParameters("snapshotMode", "native"));
    String uuid = TestDriver.image(taken).substring("csi-snap-".length());
    String backup = UUID.randomUUID().toString();
    CLUSTER.rbd("snap", "create", image + "@backup");
    CLUSTER.rbd("snap", "create", image + "@backup-" + backup);
    CLUSTER.rbd("snap", "create", image + "@csi-snap-" + backup);
    String snapshots = POOL.snapshots(TestDriver.image(volume)).toString();

    forge(backup, "backup", volume, Map.of());
    assertStatus(Code.FAILED_PRECONDITION, "backup", () -> snapshotInOtherPool(volume));
    forge(backup, "backup-" + backup, volume, Map.of());
    assertStatus(Code.FAILED_PRECONDITION, "backup-", () -> snapshotInOtherPool(volume));
    forge(uuid, TestDriver.image(taken), volume, Map.of());
    assertStatus(
        Code.FAILED_PRECONDITION, TestDriver.image(taken), () -> snapshotInOtherPool(volume));
    forge(uuid, TestDriver.image(taken), volume, Map.of("csi.java.nativeimage", "1"));
    assertStatus(Code.INVALID_ARGUMENT, "native", () -> snapshotInOtherPool(volume));
    assertThat(POOL.snapshots(TestDriver.image(volume))).hasToString(snapshots);

    forge(backup, "csi-snap-" + backup, volume, Map.of());
    Snapshot snapshot = snapshotInOtherPool(volume);
    assertThat(snapshot.getSnapshotId()).as("an attempt's own goes").endsWith(backup);
    assertThat(CLUSTER.rbd("snap", "ls", image)).doesNotContain("csi-snap-" + backup);
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.deleteSnapshot(taken.getSnapshotId());
    CLUSTER.rbd("snap", "purge", image, "--no-progress");
    driver.delete(volume.getVolumeId());
  }

  @Test
  void namesAndOwnersAreWrittenOnImagesWhenAskedFor() {
    try (TestDriver labelling =
        TestDriver.rbd(CLUSTER).imageLabels(new ImageLabels(true, "k8s-1")).start()) {
      Volume volume =
          labelling.create(
              labelling
                  .createRequest(name, 64 * MIB)
                  .putParameters("csi.storage.k8s.io/pvc/name", "claim")
                  .putParameters("csi.storage.k8s.io/pvc/namespace", "shop")
                  .putParameters("csi.storage.k8s.io/pv/name", name));
      Snapshot snapshot =
          labelling.snapshot(
              labelling
                  .snapshotRequest(name, volume.getVolumeId())
                  .putParameters("csi.storage.k8s.io/volumesnapshot/name", "vs")
                  .putParameters("csi.storage.k8s.io/volumesnapshot/namespace", "shop")
                  .putParameters("csi.storage.k8s.io/volumesnapshotcontent/name", name));
      assertThat(CLUSTER.rbd("image-meta", "ls", "rbd/" + TestDriver.image(volume)))
          .contains("csi.storage.k8s.io/pvc/name")
          .contains("claim")
          .contains("csi.storage.k8s.io/pvc/namespace")
          .contains("csi.storage.k8s.io/pv/name")
          .contains("csi.ceph.com/cluster/name")
          .contains("k8s-1");
      assertThat(CLUSTER.rbd("image-meta", "ls", "rbd/" + TestDriver.image(snapshot)))
          .contains("csi.storage.k8s.io/volumesnapshot/name")
          .contains("csi.storage.k8s.io/volumesnapshotcontent/name")
          .contains("k8s-1")
          .doesNotContain("pvc/name")
          .doesNotContain("pv/name");
      String uuid = TestDriver.image(snapshot).substring("csi-snap-".length());
      assertThat(POOL.omap("csi.snap." + uuid)).containsEntry("csi.volume.owner", "shop");
      labelling.deleteSnapshot(snapshot.getSnapshotId());
      labelling.delete(volume.getVolumeId());
    }
  }

  @Test
  void aSnapshotWhoseImageIsInUseIsNotDeleted() {
    Volume volume = driver.create(name, 64 * MIB);
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd");
        var image = new RbdPool(io).open(TestDriver.image(snapshot))) {
      assertThat(image.size()).isEqualTo(64 * MIB);
      assertStatus(
          Code.FAILED_PRECONDITION,
          "in use",
          () -> driver.deleteSnapshot(snapshot.getSnapshotId()));
    }
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
  }

  @Test
  void aSnapshotWhoseImageLostItsNameIsDeleted() {
    Volume volume = driver.create(name, 64 * MIB);
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());
    String header = "rbd_header." + POOL.info(TestDriver.image(snapshot)).path("id").asText();
    CLUSTER.rados("-p", "rbd", "rm", "rbd_id." + TestDriver.image(snapshot));
    driver.deleteSnapshot(snapshot.getSnapshotId());
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(POOL.trash()).doesNotContain(TestDriver.image(snapshot)));
    assertDeleted(TestDriver.image(snapshot));
    assertThat(POOL.objects()).doesNotContain(header);
    driver.delete(volume.getVolumeId());
  }

  /** As of a driver that was killed: what it has sent to the trash may be carried out later. */
  @Test
  void aSnapshotWhoseDeletionHasBegunIsGivenToNobody() {
    Volume volume = driver.create(name, 64 * MIB);
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());
    String user = "no-trash";
    CLUSTER.ceph(
        "auth",
        "get-or-create",
        "client." + user,
        "mon",
        "profile rbd",
        "osd",
        "allow rx pool=rbd, allow rwx pool=rbd object_prefix csi.");
    assertThatThrownBy(
        () ->
            driver
                .controller()
                .deleteSnapshot(
                    DeleteSnapshotRequest.newBuilder()
                        .setSnapshotId(snapshot.getSnapshotId())
                        .putSecrets("userID", user)
                        .putSecrets(
                            "userKey", CLUSTER.ceph("auth", "print-key", "client." + user).strip())
                        .build()));
    CLUSTER.ceph("auth", "rm", "client." + user);
    assertThat(POOL.images()).contains(TestDriver.image(snapshot));

    Snapshot another = driver.snapshot(name, volume.getVolumeId());
    assertThat(another.getSnapshotId()).isNotEqualTo(snapshot.getSnapshotId());
    assertThat(POOL.images()).doesNotContain(TestDriver.image(snapshot));
    driver.deleteSnapshot(another.getSnapshotId());
    driver.delete(volume.getVolumeId());
    assertDeleted(TestDriver.image(snapshot), TestDriver.image(another));
  }

  @Test
  void aVolumeWithSnapshotsMadeByHandIsNotDeleted() {
    Volume volume = driver.create(name, 64 * MIB);
    CLUSTER.rbd("snap", "create", "rbd/" + TestDriver.image(volume) + "@before-upgrade");
    assertStatus(
        Code.FAILED_PRECONDITION, "before-upgrade", () -> driver.delete(volume.getVolumeId()));
    CLUSTER.rbd(
        "snap", "rm", "rbd/" + TestDriver.image(volume) + "@before-upgrade", "--no-progress");
    driver.delete(volume.getVolumeId());
  }

  @Test
  void whatIsMissingOrCannotBeIsRefusedClearly() {
    var controller = driver.controller();
    Volume volume = driver.create(name, 64 * MIB);
    CreateSnapshotRequest request = driver.snapshotRequest(name, volume.getVolumeId()).build();
    assertStatus(
        Code.INVALID_ARGUMENT,
        "name",
        () -> controller.createSnapshot(request.toBuilder().clearName().build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "source_volume_id",
        () -> controller.createSnapshot(request.toBuilder().clearSourceVolumeId().build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "snapshot_id",
        () -> controller.deleteSnapshot(DeleteSnapshotRequest.getDefaultInstance()));
    assertStatus(
        Code.UNAUTHENTICATED,
        () -> controller.createSnapshot(request.toBuilder().clearSecrets().build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "clusterID",
        () ->
            controller.createSnapshot(
                request.toBuilder().putParameters("clusterID", "nobody-there").build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "no-such-pool",
        () ->
            controller.createSnapshot(
                request.toBuilder().putParameters("pool", "no-such-pool").build()));
    driver.deleteSnapshot("not-an-id");
    assertStatus(Code.NOT_FOUND, () -> driver.snapshot(name, "not-an-id"));
    driver.delete(volume.getVolumeId());
    assertStatus(Code.NOT_FOUND, () -> driver.snapshot(name, volume.getVolumeId()));
    assertThat(POOL.keys("csi.snaps.default")).doesNotContain("csi.snap." + name);
  }
}
