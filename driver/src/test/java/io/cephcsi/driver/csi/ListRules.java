package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.CephUsers;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeResponse;
import io.cephcsi.proto.csi.v1.GetCapacityRequest;
import io.cephcsi.proto.csi.v1.GetSnapshotRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsResponse;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.ListVolumesResponse;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The rules of CSI 1.12 for lists, single looks and capacity. */
abstract class ListRules extends ConformanceCase {
  final List<Volume> made = new ArrayList<>();
  final List<Snapshot> snapshots = new ArrayList<>();

  final Volume make() {
    Volume volume = create();
    made.add(volume);
    return volume;
  }

  final Snapshot take(Volume source) {
    Snapshot snapshot = createSnapshot(source.getVolumeId());
    snapshots.add(snapshot);
    return snapshot;
  }

  @AfterEach
  void deleteAll() {
    snapshots.forEach(
        s ->
            assertThat(controller().deleteSnapshot(deleteSnapshot(s.getSnapshotId()).build()))
                .isNotNull());
    made.forEach(volume -> driver.delete(volume.getVolumeId()));
    assertThat(list(0, "").getEntriesList()).isEmpty();
  }

  static ListVolumesResponse list(int max, String token) {
    return controller()
        .listVolumes(
            ListVolumesRequest.newBuilder().setMaxEntries(max).setStartingToken(token).build());
  }

  static List<String> ids(ListVolumesResponse page) {
    return page.getEntriesList().stream().map(e -> e.getVolume().getVolumeId()).toList();
  }

  static ListSnapshotsRequest.Builder snapshots(int max, String token) {
    return ListSnapshotsRequest.newBuilder().setMaxEntries(max).setStartingToken(token);
  }

  static List<String> ids(ListSnapshotsResponse page) {
    return page.getEntriesList().stream().map(e -> e.getSnapshot().getSnapshotId()).toList();
  }

  @Nested
  class ListVolumes {
    @Test
    void negativeIsInvalidAndABadTokenIsAborted() {
      assertInvalid(
          "max_entries",
          controller()::listVolumes,
          ListVolumesRequest.newBuilder().setMaxEntries(-1).build());
      assertStatus(Code.ABORTED, "starting_token", () -> list(0, "invalid-token"));
      assertInvalid(
          "starting_token",
          controller()::listVolumes,
          ListVolumesRequest.newBuilder().setStartingToken("t".repeat(129)).build());
    }

    @Test
    void anEmptyListHasNoToken() {
      assertThat(list(0, "").getEntriesList()).isEmpty();
      assertThat(list(1, "").getNextToken()).isEmpty();
    }

    @Test
    void entriesSayWhatCreateSaid() {
      Volume volume = make();
      var entry = list(0, "").getEntries(0);
      assertThat(entry.getVolume().getVolumeId()).isEqualTo(volume.getVolumeId());
      assertThat(entry.getVolume().getCapacityBytes()).isEqualTo(volume.getCapacityBytes());
      assertThat(volume.getVolumeContextMap())
          .containsAllEntriesOf(entry.getVolume().getVolumeContextMap());
      assertThat(entry.getStatus().getPublishedNodeIdsList()).isEmpty();
      assertThat(entry.getStatus().getVolumeCondition().getAbnormal()).isFalse();
    }

    @Test
    void pagesOfEverySizeGiveEachVolumeOnce() {
      for (int i = 0; i < 5; i++) {
        make();
      }
      List<String> expected = made.stream().map(Volume::getVolumeId).toList();
      for (int size = 1; size <= 6; size++) {
        List<String> all = new ArrayList<>();
        String token = "";
        do {
          ListVolumesResponse page = list(size, token);
          assertThat(page.getEntriesCount()).isBetween(1, size);
          all.addAll(ids(page));
          token = page.getNextToken();
          assertThat(token.isEmpty()).isEqualTo(all.size() == 5);
        } while (!token.isEmpty());
        assertThat(all).as("size " + size).hasSize(5).containsExactlyInAnyOrderElementsOf(expected);
      }
      assertThat(ids(list(1000, ""))).hasSize(5);
    }

    @Test
    void theTokenOfADeletedVolumeIsGoodAndWhatIsAddedIsNoHarm() {
      for (int i = 0; i < 3; i++) {
        make();
      }
      ListVolumesResponse first = list(2, "");
      driver.delete(first.getEntries(1).getVolume().getVolumeId());
      Volume added = make();
      List<String> rest = ids(list(0, first.getNextToken()));
      List<String> stayed =
          made.stream()
              .map(Volume::getVolumeId)
              .filter(id -> !ids(first).contains(id) && !id.equals(added.getVolumeId()))
              .toList();
      assertThat(rest).doesNotHaveDuplicates().containsAll(stayed);
      assertThat(rest).doesNotContainAnyElementsOf(ids(first));
    }
  }

  @Nested
  class ControllerGetVolume {
    static ControllerGetVolumeResponse get(String id) {
      return controller()
          .controllerGetVolume(ControllerGetVolumeRequest.newBuilder().setVolumeId(id).build());
    }

    @Test
    void requiredFieldsAreCheckedAndMissingIsNotFound() {
      assertInvalid(
          "volume_id",
          controller()::controllerGetVolume,
          ControllerGetVolumeRequest.getDefaultInstance());
      assertStatus(Code.NOT_FOUND, () -> get(NOBODY));
      assertStatus(Code.NOT_FOUND, () -> get("no id"));
    }

    @Test
    void aHealthyVolumeIsNormal() {
      Volume volume = make();
      var answer = get(volume.getVolumeId());
      assertThat(answer.getVolume().getCapacityBytes()).isEqualTo(volume.getCapacityBytes());
      assertThat(answer.getStatus().getVolumeCondition().getAbnormal()).isFalse();
      assertThat(answer.getStatus().getVolumeCondition().getMessage()).isNotEmpty();
    }
  }

  @Nested
  class ListSnapshots {
    @Test
    void negativeIsInvalidAndABadTokenIsAborted() {
      assertInvalid("max_entries", controller()::listSnapshots, snapshots(-1, "").build());
      assertStatus(Code.ABORTED, () -> controller().listSnapshots(snapshots(0, "invalid").build()));
      make();
      make();
      String ofVolumes = list(1, "").getNextToken();
      assertStatus(Code.ABORTED, () -> controller().listSnapshots(snapshots(0, ofVolumes).build()));
    }

    @Test
    void filtersAndPages() {
      Volume one = make();
      Volume two = make();
      List<Snapshot> ofOne = List.of(take(one), take(one));
      Snapshot ofTwo = take(two);
      var all = controller().listSnapshots(snapshots(0, "").build());
      assertThat(all.getEntriesList())
          .extracting(ListSnapshotsResponse.Entry::getSnapshot)
          .containsExactlyInAnyOrder(ofOne.get(0), ofOne.get(1), ofTwo);
      assertThat(
              ids(
                  controller()
                      .listSnapshots(
                          snapshots(0, "").setSourceVolumeId(one.getVolumeId()).build())))
          .containsExactlyInAnyOrder(ofOne.get(0).getSnapshotId(), ofOne.get(1).getSnapshotId());
      assertThat(
              ids(
                  controller()
                      .listSnapshots(
                          snapshots(0, "").setSnapshotId(ofTwo.getSnapshotId()).build())))
          .containsExactly(ofTwo.getSnapshotId());
      assertThat(
              ids(
                  controller()
                      .listSnapshots(
                          snapshots(0, "")
                              .setSnapshotId(ofTwo.getSnapshotId())
                              .setSourceVolumeId(one.getVolumeId())
                              .build())))
          .isEmpty();

      var first =
          controller().listSnapshots(snapshots(1, "").setSourceVolumeId(one.getVolumeId()).build());
      var second =
          controller()
              .listSnapshots(
                  snapshots(1, first.getNextToken()).setSourceVolumeId(one.getVolumeId()).build());
      assertThat(second.getNextToken()).isEmpty();
      assertThat(List.of(ids(first).get(0), ids(second).get(0)))
          .containsExactlyInAnyOrder(ofOne.get(0).getSnapshotId(), ofOne.get(1).getSnapshotId());
    }

    @Test
    void whatDoesNotExistIsAnEmptyAnswer() {
      for (String id : List.of(NOBODY, "no id")) {
        assertThat(ids(controller().listSnapshots(snapshots(0, "").setSnapshotId(id).build())))
            .isEmpty();
        assertThat(ids(controller().listSnapshots(snapshots(0, "").setSourceVolumeId(id).build())))
            .isEmpty();
      }
    }

    @Test
    void theSecretsOfARequestDecide() {
      Snapshot snapshot = take(make());
      Map<String, String> weak =
          Map.of(
              "userID",
              "lists-nothing",
              "userKey",
              CephUsers.keyOfNoPool(CLUSTER, "lists-nothing"));
      assertThat(
              ids(
                  controller()
                      .listSnapshots(snapshots(0, "").putAllSecrets(driver.secrets()).build())))
          .containsExactly(snapshot.getSnapshotId());
      assertStatus(
          Code.PERMISSION_DENIED,
          () -> controller().listSnapshots(snapshots(0, "").putAllSecrets(weak).build()));
      Map<String, String> wrong = new HashMap<>(weak);
      wrong.put("userKey", "AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg==");
      assertStatus(
          Code.UNAUTHENTICATED,
          () -> controller().listSnapshots(snapshots(0, "").putAllSecrets(wrong).build()));
    }

    @Test
    void aSnapshotOutlivesItsSourceInLists() {
      Volume volume = make();
      Snapshot snapshot = take(volume);
      driver.delete(volume.getVolumeId());
      assertThat(
              controller()
                  .listSnapshots(snapshots(0, "").setSourceVolumeId(volume.getVolumeId()).build())
                  .getEntries(0)
                  .getSnapshot())
          .isEqualTo(snapshot);
    }
  }

  /** Whoever may write to a pool may write anything into its journal. */
  @Nested
  class DamagedJournal {
    private final Omaps omaps = kind.journal(CLUSTER);
    private final List<Runnable> cleanUp = new ArrayList<>();

    private String put(VolumeId like, String kind, Map<String, String> keys) {
      UUID uuid = UUID.randomUUID();
      String directory = "csi." + kind + "s." + driver.instanceId();
      String key = "csi." + kind + "." + uuid;
      keys.forEach((k, value) -> omaps.set(key, k, value.getBytes(UTF_8)));
      omaps.set(directory, key, uuid.toString());
      cleanUp.add(() -> omaps.removeKey(directory, key));
      if (!keys.isEmpty()) {
        cleanUp.add(() -> omaps.remove(key));
      }
      return new VolumeId(like.clusterId(), like.location(), uuid).toString();
    }

    @AfterEach
    void cleanUp() {
      cleanUp.forEach(Runnable::run);
    }

    @Test
    void oneEntryNeverHidesOthersAndSaysWhatIsWrongWithIt() {
      Volume good = make();
      Snapshot taken = take(good);
      VolumeId id = VolumeId.parse(good.getVolumeId()).orElseThrow();
      List<String> volumes = new ArrayList<>();
      List<String> ofSnapshots = new ArrayList<>();
      for (String name : List.of("csi\0-vol", "a\nb", "", "..", "a/b", "x".repeat(5000))) {
        volumes.add(put(id, "volume", Map.of("csi.volname", "v", "csi.imagename", name)));
        ofSnapshots.add(
            put(id, "snap", Map.of("csi.snapname", "s", "csi.source", "x", "csi.imagename", name)));
      }
      for (String image : List.of("f".repeat(5000), "\0", "a b", "../a")) {
        Map<String, String> keys = Map.of("csi.imagename", "csi-vol-x", "csi.imageid", image);
        volumes.add(put(id, "volume", with(keys, "csi.volname", "v")));
        ofSnapshots.add(put(id, "snap", with(keys, "csi.snapname", "s")));
      }
      put(id, "volume", Map.of()); // and one that is being made
      String directory = "csi.volumes." + driver.instanceId();
      omaps.set(directory, "csi.volume.\u202Ename", "no uuid");
      cleanUp.add(() -> omaps.removeKey(directory, "csi.volume.\u202Ename"));

      assertThat(ids(list(0, ""))).containsExactly(good.getVolumeId());
      assertThat(ids(list(1, ""))).containsExactly(good.getVolumeId());
      assertThat(ids(controller().listSnapshots(snapshots(0, "").build())))
          .containsExactly(taken.getSnapshotId());
      for (String volume : volumes) {
        assertDamaged(() -> ControllerGetVolume.get(volume));
        assertDamaged(() -> controller().deleteVolume(delete(volume).build()));
        assertDamaged(() -> controller().controllerExpandVolume(expand(volume, MIB).build()));
      }
      for (String snapshot : ofSnapshots) {
        assertDamaged(() -> GetSnapshot.get(snapshot));
        assertDamaged(() -> controller().deleteSnapshot(deleteSnapshot(snapshot).build()));
      }
      assertThat(ControllerGetVolume.get(good.getVolumeId()).getVolume().getVolumeId())
          .isEqualTo(good.getVolumeId());
    }

    private static Map<String, String> with(Map<String, String> keys, String key, String value) {
      Map<String, String> all = new HashMap<>(keys);
      all.put(key, value);
      return all;
    }

    private static void assertDamaged(ThrowingCallable call) {
      assertStatus(
          Code.FAILED_PRECONDITION,
          said -> assertThat(said).contains("damaged journal").matches("\\P{Cntrl}{1,500}"),
          call);
    }

    @Test
    void whatCannotBeANameIsRefusedBeforeItIsReserved() {
      for (String prefix : List.of("a\0", "\0", "a\nb", "a/b", "..", "a b", "-a", "\u202Ea")) {
        if (prefix.equals("..") && kind == Kind.RBD) {
          continue; // begins a name there, and is none
        }
        assertInvalid(
            "volumeNamePrefix",
            controller()::createVolume,
            driver.createRequest(newName(), MIB).putParameters("volumeNamePrefix", prefix).build());
        assertInvalid(
            "snapshotNamePrefix",
            controller()::createSnapshot,
            snapshot(newName(), NOBODY).putParameters("snapshotNamePrefix", prefix).build());
      }
      for (String directory : List.of("csi.volumes.", "csi.snaps.")) {
        String object = directory + driver.instanceId();
        assertThat(omaps.objects().contains(object) ? omaps.of(object) : Map.of()).isEmpty();
      }
    }
  }

  @Nested
  class GetSnapshot {
    private static Snapshot get(String id) {
      return controller()
          .getSnapshot(GetSnapshotRequest.newBuilder().setSnapshotId(id).build())
          .getSnapshot();
    }

    @Test
    void requiredFieldsAreCheckedAndMissingIsNotFound() {
      assertInvalid(
          "snapshot_id", controller()::getSnapshot, GetSnapshotRequest.getDefaultInstance());
      assertStatus(Code.NOT_FOUND, () -> get(NOBODY));
      assertStatus(Code.NOT_FOUND, () -> get("no id"));
    }

    @Test
    void itSaysWhatCreateSaid() {
      Snapshot snapshot = take(make());
      assertThat(get(snapshot.getSnapshotId())).isEqualTo(snapshot);
    }
  }

  @Nested
  class GetCapacity {
    private final GetCapacityRequest.Builder request =
        GetCapacityRequest.newBuilder().putAllParameters(driver.parameters());

    @Test
    void aPoolHasRoomAndTheWholeHasAtLeastThat() {
      long pool = controller().getCapacity(request.build()).getAvailableCapacity();
      long all =
          controller().getCapacity(GetCapacityRequest.getDefaultInstance()).getAvailableCapacity();
      assertThat(pool).isPositive();
      assertThat(all).isGreaterThanOrEqualTo(pool / 2); // others fill and empty the cluster
    }

    @Test
    void whatDoesNotExistIsInvalidAndWhatCannotBeHasNoRoom() {
      assertStatus(
          Code.INVALID_ARGUMENT,
          "no-such",
          () -> controller().getCapacity(request.clone().putParameters("pool", "no-such").build()));
      assertStatus(
          Code.INVALID_ARGUMENT,
          "no-such",
          () ->
              controller()
                  .getCapacity(request.clone().putParameters("clusterID", "no-such").build()));
      assertThat(
              controller()
                  .getCapacity(request.clone().addVolumeCapabilities(kind.unsupported()).build())
                  .getAvailableCapacity())
          .isZero();
    }
  }
}
