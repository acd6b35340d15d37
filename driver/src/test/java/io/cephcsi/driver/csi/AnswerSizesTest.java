package io.cephcsi.driver.csi;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Timestamp;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.ListedSnapshot;
import io.cephcsi.driver.volume.ListedVolume;
import io.cephcsi.driver.volume.VolumeGroup;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.ListSnapshotsResponse;
import io.cephcsi.proto.csi.v1.ListVolumesResponse;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCondition;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What entries of lists take in answers, and what is estimated of it. */
class AnswerSizesTest {
  private static final VolumeId ID = new VolumeId("a".repeat(36), 17, new UUID(1, 2));
  private static final Map<String, String> CONTEXT =
      Map.of(
          "clusterID",
          "a".repeat(36),
          "pool",
          "replicapool",
          "journalPool",
          "replicapool",
          "imageName",
          "csi-vol-" + ID.uuid());

  private static void assertEstimated(int estimate, int bytes) {
    assertThat(estimate).isBetween(bytes, 2 * bytes);
  }

  private static Volume.Builder volume() {
    return Volume.newBuilder()
        .setVolumeId(ID.toString())
        .setCapacityBytes(Long.MAX_VALUE)
        .putAllVolumeContext(CONTEXT);
  }

  @Test
  void ofVolumesWithTheirNodes() {
    List<String> nodes = IntStream.range(0, 1000).mapToObj(i -> "node-ü-" + i).toList();
    for (List<String> published : List.of(List.<String>of(), nodes)) {
      int bytes =
          ListVolumesResponse.newBuilder()
              .addEntries(
                  ListVolumesResponse.Entry.newBuilder()
                      .setVolume(volume())
                      .setStatus(
                          ListVolumesResponse.VolumeStatus.newBuilder()
                              .addAllPublishedNodeIds(published)
                              .setVolumeCondition(
                                  VolumeCondition.newBuilder()
                                      .setAbnormal(false)
                                      .setMessage("the volume is there and healthy"))))
              .build()
              .getSerializedSize();
      assertEstimated(
          new ListedVolume(ID, Long.MAX_VALUE, CONTEXT, published, Optional.empty()).bytes(),
          bytes);
    }
  }

  @Test
  void ofSnapshots() {
    int bytes =
        ListSnapshotsResponse.newBuilder()
            .addEntries(
                ListSnapshotsResponse.Entry.newBuilder()
                    .setSnapshot(
                        Snapshot.newBuilder()
                            .setSnapshotId(ID.toString())
                            .setSourceVolumeId(ID.toString())
                            .setSizeBytes(Long.MAX_VALUE)
                            .setCreationTime(
                                Timestamp.newBuilder().setSeconds(1L << 40).setNanos(999_999_999))
                            .setReadyToUse(true)
                            .setGroupSnapshotId(ID.toString())))
            .build()
            .getSerializedSize();
    assertEstimated(
        new ListedSnapshot(ID, ID, Long.MAX_VALUE, Instant.MAX, Optional.of(ID.toString())).bytes(),
        bytes);
  }

  @Test
  void ofGroups() {
    for (int members : List.of(0, 1, 500)) {
      var group =
          io.cephcsi.proto.addons.volumegroup.VolumeGroup.newBuilder()
              .setVolumeGroupId(ID.toString())
              .putAllVolumeGroupContext(CONTEXT);
      for (int i = 0; i < members; i++) {
        group.addVolumes(volume());
      }
      int bytes =
          io.cephcsi.proto.addons.volumegroup.ListVolumeGroupsResponse.newBuilder()
              .addEntries(
                  io.cephcsi.proto.addons.volumegroup.ListVolumeGroupsResponse.Entry.newBuilder()
                      .setVolumeGroup(group))
              .build()
              .getSerializedSize();
      CreatedVolume member = new CreatedVolume(ID, Long.MAX_VALUE, CONTEXT, Map.of());
      assertEstimated(
          new VolumeGroup(ID, CONTEXT, java.util.Collections.nCopies(members, member)).bytes(),
          bytes);
    }
  }
}
