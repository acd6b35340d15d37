package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Clones beside images, entries and pools that are not of the volume. */
class RbdForeignClonesIT extends RbdCloneCase {

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
    deleteWithSource(theirs, clone, blank);
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
    deleteWithSource(volume);
  }

  @Test
  void aVolumeInAnotherPoolCanComeFromASourceHere() {
    Volume restored =
        driver.create(
            driver
                .restoreRequest(name, 0, snapshot.getSnapshotId())
                .putParameters("pool", CLUSTER.otherPool()));
    Volume copied =
        driver.create(
            driver
                .cloneRequest(name + "-2", 0, source.getVolumeId())
                .putParameters("pool", CLUSTER.otherPool()));
    int content = CONTENT.checksum(rbd(source));
    assertThat(CONTENT.checksum(CLUSTER.otherPool() + "/" + TestDriver.image(restored)))
        .isEqualTo(content);
    assertThat(CONTENT.checksum(CLUSTER.otherPool() + "/" + TestDriver.image(copied)))
        .isEqualTo(content);
    deleteWithSource(restored, copied);
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
    return driver.create(
        driver
            .cloneRequest(name, 0, source.getVolumeId())
            .putParameters("pool", CLUSTER.otherPool()));
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
        driver.create(
            driver.createRequest(name, 64 * MIB).putParameters("pool", CLUSTER.otherPool()));
    assertThat(POOL.snapshots(TestDriver.image(source))).hasToString(snapshots);
    driver.delete(volume.getVolumeId());
    CLUSTER.rbd("snap", "purge", rbd(source), "--no-progress");
    deleteWithSource(empty);
  }

  @Test
  void whatAnAttemptAtACloneInAnotherPoolLeftIsTakenAnew() {
    String uuid = UUID.randomUUID().toString();
    forge(uuid, "csi-vol-" + uuid, source.getVolumeId());
    CLUSTER.rbd("snap", "create", rbd(source) + "@csi-vol-" + uuid + "-temp");
    Volume volume = copyToOtherPool();
    assertThat(volume.getVolumeId()).endsWith(uuid);
    assertThat(CLUSTER.rbd("snap", "ls", rbd(source))).isBlank();
    deleteWithSource(volume);
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
    deleteWithSource(volume, clone, other);
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
    deleteWithSource();
  }
}
