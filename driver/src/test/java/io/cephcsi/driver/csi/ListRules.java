package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

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
import java.util.List;
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
