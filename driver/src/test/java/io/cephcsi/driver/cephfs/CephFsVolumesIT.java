package io.cephcsi.driver.cephfs;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.grpc.StatusTable;
import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Volumes, snapshots and copies over the socket, looked at through the command line. */
class CephFsVolumesIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final SubvolumeState STATE = new SubvolumeState(CLUSTER);

  @RegisterExtension
  static final TestDriver driver = TestDriver.cephFs(CLUSTER).withCredentials().start();

  @RegisterExtension
  static final TestDriver impatient = TestDriver.cephFs(CLUSTER).copyWait(Duration.ZERO).start();

  @AfterEach
  void nothingIsLeft() {
    STATE.delayClones(0);
    assertThat(STATE.leftovers()).isEmpty();
  }

  private static String newName() {
    return "pvc-" + UUID.randomUUID();
  }

  /** Asks until the copy is ready, as the CO does. */
  private static Volume await(CreateVolumeRequest request) {
    return Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .pollInterval(Duration.ofMillis(200))
        .until(
            () -> {
              try {
                return driver.controller().createVolume(request).getVolume();
              } catch (StatusRuntimeException e) {
                assertThat(e.getStatus().getCode()).as(StatusTable.show(e)).isEqualTo(Code.ABORTED);
                return null;
              }
            },
            volume -> volume != null);
  }

  @Test
  void aVolumeIsASubvolumeWithAQuotaAndTheJournalIsThatOfCephCsi() {
    Volume volume = driver.create("fs-1", 64 * MIB);
    JsonNode golden = Golden.after("CephFS CreateVolume fs-1").get("answer");
    assertThat(volume.getCapacityBytes()).isEqualTo(golden.get("capacity_bytes").asLong());
    assertThat(volume.getVolumeContextMap().keySet())
        .containsExactlyInAnyOrder("subvolumePath", "clusterID", "subvolumeName", "fsName");
    String name = volume.getVolumeContextMap().get("subvolumeName");
    assertThat(STATE.info(name).get("bytes_quota").asLong()).isEqualTo(64 * MIB);
    assertThat(STATE.info(name).get("path").asText())
        .isEqualTo(volume.getVolumeContextMap().get("subvolumePath"));
    assertThat(volume.getVolumeId()).matches("0001-000c-test-cluster-0000000000000001-.{36}");

    Snapshot snapshot = driver.snapshot("fsnap-1", volume.getVolumeId());
    assertThat(snapshot.getSizeBytes()).isEqualTo(64 * MIB);
    assertThat(snapshot.getReadyToUse()).isTrue();
    Map<String, Map<String, String>> expected = Golden.journal("CephFS CreateSnapshot fsnap-1");
    Map<String, String> ids =
        Map.of(
            "7f97915e-d2b3-46fe-a3ab-085003f41743", uuid(volume.getVolumeId()),
            "13a198ab-7cc0-4c98-9f50-ced4cf263bf9", uuid(snapshot.getSnapshotId()));
    Map<String, Map<String, String>> journal = STATE.journal();
    String tracker = "rt-backingsnapshot-" + snapshot.getSnapshotId();
    assertThat(journal.remove(tracker)).containsOnlyKeys(snapshot.getSnapshotId());
    assertThat(journal).isEqualTo(SubvolumeState.renamed(expected, ids));

    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
  }

  private static String uuid(String id) {
    return id.substring(id.length() - 36);
  }

  @Test
  void aSnapshotWhoseAnswerWasLostIsFoundAfterItsVolumesDeletion() {
    Volume volume = driver.create(newName(), 16 * MIB);
    String name = newName();
    Snapshot lost = driver.snapshot(name, volume.getVolumeId());
    STATE.removeObject("rt-backingsnapshot-" + lost.getSnapshotId()); // as if it died before that
    driver.delete(volume.getVolumeId());
    assertThat(driver.snapshot(name, volume.getVolumeId())).isEqualTo(lost);
    assertStatus(Code.NOT_FOUND, () -> driver.snapshot(newName(), volume.getVolumeId()));
    driver.deleteSnapshot(lost.getSnapshotId());
  }

  @Test
  void aSnapshotNotTakenBeforeItsVolumesDeletionLeavesNothing() {
    Volume volume = driver.create(newName(), 16 * MIB);
    String name = newName();
    String id = driver.snapshot(name, volume.getVolumeId()).getSnapshotId();
    STATE.removeObject("rt-backingsnapshot-" + id);
    STATE.removeSnapshot(volume.getVolumeContextMap().get("subvolumeName"), "csi-snap-" + uuid(id));
    driver.delete(volume.getVolumeId());
    assertStatus(Code.NOT_FOUND, () -> driver.snapshot(name, volume.getVolumeId()));
  }

  @Test
  void aFinishedCopyDoesNotFollowTheSizeOfItsSource() {
    Volume source = driver.create(newName(), 16 * MIB);
    CreateVolumeRequest request =
        driver
            .cloneRequest(newName(), 16 * MIB, source.getVolumeId())
            .setCapacityRange(
                CapacityRange.newBuilder().setRequiredBytes(16 * MIB).setLimitBytes(24 * MIB))
            .build();
    Volume copy = driver.controller().createVolume(request).getVolume(); // at the first call
    assertThat(copy.getCapacityBytes()).isEqualTo(16 * MIB);
    driver.expand(source.getVolumeId(), 32 * MIB);
    assertThat(driver.controller().createVolume(request).getVolume()).isEqualTo(copy);
    CreateVolumeRequest unlimited =
        driver.cloneRequest(request.getName(), 0, source.getVolumeId()).build();
    assertThat(driver.controller().createVolume(unlimited).getVolume()).isEqualTo(copy);
    assertStatus(
        Code.OUT_OF_RANGE,
        () -> driver.controller().createVolume(request.toBuilder().setName(newName()).build()));
    driver.delete(copy.getVolumeId());
    driver.delete(source.getVolumeId());
  }

  @Test
  void growthIsSeenAndShrinkingIsNot() {
    Volume volume = driver.create(newName(), 16 * MIB);
    for (long size : new long[] {32 * MIB, 32 * MIB, 8 * MIB}) {
      var answer =
          driver
              .controller()
              .controllerExpandVolume(
                  ControllerExpandVolumeRequest.newBuilder()
                      .setVolumeId(volume.getVolumeId())
                      .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(size))
                      .putAllSecrets(driver.secrets())
                      .build());
      assertThat(answer.getCapacityBytes()).isEqualTo(32 * MIB);
      assertThat(answer.getNodeExpansionRequired()).isFalse();
    }
    assertThat(
            STATE
                .info(volume.getVolumeContextMap().get("subvolumeName"))
                .get("bytes_quota")
                .asLong())
        .isEqualTo(32 * MIB);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void aCopyOfASnapshotHasItsFilesAndOutlivesTheSource() {
    Volume source = driver.create(newName(), 16 * MIB);
    STATE.write(source.getVolumeContextMap().get("subvolumePath") + "/file", "content");
    Snapshot snapshot = driver.snapshot(newName(), source.getVolumeId());
    driver.delete(source.getVolumeId());
    var request = driver.restoreRequest(newName(), 24 * MIB, snapshot.getSnapshotId()).build();
    Volume copy = driver.controller().createVolume(request).getVolume(); // at the first call
    assertThat(copy.getCapacityBytes()).isEqualTo(24 * MIB);
    assertThat(STATE.read(copy.getVolumeContextMap().get("subvolumePath") + "/file"))
        .isEqualTo("content");
    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertThat(driver.controller().createVolume(request).getVolume()).isEqualTo(copy);
    driver.delete(copy.getVolumeId());
  }

  @Test
  void aCopyOfAVolumeLeavesNoSnapshotOnItAndIsMadeOnce() {
    Volume source = driver.create(newName(), 16 * MIB);
    STATE.write(source.getVolumeContextMap().get("subvolumePath") + "/file", "content");
    var request = driver.cloneRequest(newName(), 0, source.getVolumeId()).build();
    Volume copy = driver.controller().createVolume(request).getVolume(); // at the first call
    assertThat(copy.getCapacityBytes()).isEqualTo(16 * MIB);
    assertThat(STATE.read(copy.getVolumeContextMap().get("subvolumePath") + "/file"))
        .isEqualTo("content");
    assertThat(STATE.snapshots(source.getVolumeContextMap().get("subvolumeName"))).isEmpty();
    assertThat(driver.controller().createVolume(request).getVolume()).isEqualTo(copy);
    driver.delete(source.getVolumeId());
    driver.delete(copy.getVolumeId());
  }

  @Test
  void aCallWaitsForItsCopyNoLongerThanItsCaller() {
    Volume source = driver.create(newName(), 16 * MIB);
    Snapshot snapshot = driver.snapshot(newName(), source.getVolumeId());
    var request = driver.restoreRequest(newName(), 0, snapshot.getSnapshotId()).build();
    STATE.delayClones(6);
    assertStatus(
        Code.ABORTED,
        "has begun",
        () -> driver.controller().withDeadlineAfter(4, TimeUnit.SECONDS).createVolume(request));
    driver.delete(await(request).getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(source.getVolumeId());
  }

  @Test
  void aVolumeThatIsRemovedBehindTheDriversBackIsMadeAgain() {
    String name = newName();
    Volume volume = driver.create(name, 16 * MIB);
    String subvolume = volume.getVolumeContextMap().get("subvolumeName");
    STATE.removeSubvolume(subvolume);
    assertStatus(Code.NOT_FOUND, () -> driver.snapshot(newName(), volume.getVolumeId()));
    Volume again =
        Awaitility.await("what is known of a volume for 10 s")
            .atMost(Duration.ofSeconds(20))
            .until(() -> driver.create(name, 16 * MIB), made -> !made.equals(volume));
    assertThat(again.getVolumeId()).isEqualTo(volume.getVolumeId());
    assertThat(again.getVolumeContextMap().get("subvolumePath"))
        .isEqualTo(STATE.info(subvolume).get("path").asText());
    driver.delete(again.getVolumeId());
  }

  @Test
  void whatAnotherProgramChangesIsSeenAtOnce() {
    String name = newName();
    Volume volume = driver.create(name, 16 * MIB);
    String subvolume = volume.getVolumeContextMap().get("subvolumeName");
    STATE.resize(subvolume, 32 * MIB);
    var fixed = driver.createRequest(name, 16 * MIB);
    fixed.setCapacityRange(
        CapacityRange.newBuilder().setRequiredBytes(16 * MIB).setLimitBytes(16 * MIB));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.controller().createVolume(fixed.build()));
    String taken = newName();
    Snapshot snapshot = driver.snapshot(taken, volume.getVolumeId());
    assertThat(snapshot.getSizeBytes()).isEqualTo(32 * MIB);
    String onCluster = "csi-snap-" + uuid(snapshot.getSnapshotId());
    STATE.removeSnapshot(subvolume, onCluster);
    assertStatus(Code.NOT_FOUND, () -> driver.show(newName(), snapshot.getSnapshotId()));
    assertThat(driver.snapshot(taken, volume.getVolumeId()).getSnapshotId())
        .isEqualTo(snapshot.getSnapshotId());
    assertThat(STATE.snapshots(subvolume)).containsExactly(onCluster);
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
  }

  /** The journal does not say that a volume was made empty: ceph-csi's entries name no source. */
  @Test
  void anEmptyVolumeIsNoCopyOfWhatIsAskedForNext() {
    Volume source = driver.create(newName(), 16 * MIB);
    Snapshot snapshot = driver.snapshot(newName(), source.getVolumeId());
    String name = newName();
    Volume empty = driver.create(name, 16 * MIB);
    assertStatus(
        Code.ALREADY_EXISTS, () -> driver.restore(name, 16 * MIB, snapshot.getSnapshotId()));
    assertStatus(Code.ALREADY_EXISTS, () -> driver.copy(name, 16 * MIB, source.getVolumeId()));
    assertThat(driver.create(name, 16 * MIB)).isEqualTo(empty);
    String copied = newName();
    Volume copy = driver.restore(copied, 16 * MIB, snapshot.getSnapshotId());
    STATE.removeOmap("csi.volume." + uuid(copy.getVolumeId()), "csi.java.contentsource");
    assertThat(driver.restore(copied, 16 * MIB, snapshot.getSnapshotId()).getVolumeId())
        .isEqualTo(copy.getVolumeId());
    for (Volume each : List.of(copy, empty)) {
      driver.delete(each.getVolumeId());
    }
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(source.getVolumeId());
  }

  @Test
  void aCopyThatIsDeletedWhileItIsMadeIsCancelledWithItsSnapshot() {
    Volume source = driver.create(newName(), 16 * MIB);
    var request = driver.cloneRequest(newName(), 0, source.getVolumeId()).build();
    STATE.delayClones(6);
    assertStatus(Code.ABORTED, () -> impatient.controller().createVolume(request));
    String id = STATE.volumeId(request.getName());
    Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .ignoreExceptionsMatching(
            e -> e instanceof StatusRuntimeException s && s.getStatus().getCode() == Code.ABORTED)
        .untilAsserted(() -> driver.delete(id));
    driver.delete(source.getVolumeId());
  }

  @Test
  void aCopyThatFailedIsRemovedAndNeverMadeAgainByItsName() {
    Volume source = driver.create(newName(), 16 * MIB);
    Snapshot snapshot = driver.snapshot(newName(), source.getVolumeId());
    var request = driver.restoreRequest(newName(), 0, snapshot.getSnapshotId()).build();
    STATE.delayClones(6);
    assertStatus(Code.ABORTED, () -> impatient.controller().createVolume(request));
    String id = STATE.volumeId(request.getName());
    String name = "csi-vol-" + uuid(id);
    STATE.cancelClone(name);
    STATE.delayClones(0);
    Volume copy = await(request);
    assertThat(copy.getVolumeId())
        .as("a driver that saw the failure, and is late, removes that name")
        .isNotEqualTo(id);
    assertThat(STATE.leftovers()).noneMatch(left -> left.contains(uuid(id)));
    driver.delete(copy.getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(source.getVolumeId());
  }

  @Test
  void contentLargerThanTheLimitIsOutOfRange() {
    Volume source = driver.create(newName(), 16 * MIB);
    Snapshot snapshot = driver.snapshot(newName(), source.getVolumeId());
    assertStatus(
        Code.OUT_OF_RANGE,
        "limit_bytes",
        () ->
            driver
                .controller()
                .createVolume(
                    driver
                        .restoreRequest(newName(), 0, snapshot.getSnapshotId())
                        .setCapacityRange(CapacityRange.newBuilder().setLimitBytes(8 * MIB))
                        .build()));
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(source.getVolumeId());
  }
}
