package io.cephcsi.driver.csi;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.testing.TestCluster;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What ceph-csi left is listed as ceph-csi answered it. */
class PeerStateListIT {
  private static final String CALL = "RBD CreateSnapshot snap-1";
  private static final TestCluster CLUSTER = TestCluster.shared();

  private static String idOf(String image) {
    return CLUSTER
        .rbd("info", "rbd/" + image, "--format", "json")
        .replaceAll("(?s).*?\"id\":\"([0-9a-f]+)\".*", "$1");
  }

  @Test
  void aVolumeAndItsSnapshotAreListed() {
    Map<String, Map<String, String>> journal = new LinkedHashMap<>(Golden.journal(CALL));
    String snapshotObject = key(journal, "csi.snap.");
    String volumeObject = key(journal, "csi.volume.");
    String volume = omap(journal, volumeObject).getOrDefault("csi.imagename", "");
    String snapshot = omap(journal, snapshotObject).getOrDefault("csi.imagename", "");
    CLUSTER.rbd("create", "--size", "64M", "rbd/" + volume);
    CLUSTER.rbd("snap", "create", "rbd/" + volume + "@" + snapshot);
    CLUSTER.rbd(
        "clone",
        "--rbd-default-clone-format",
        "2",
        "rbd/" + volume + "@" + snapshot,
        "rbd/" + snapshot);
    CLUSTER.rbd("snap", "rm", "rbd/" + volume + "@" + snapshot);
    CLUSTER.rbd("snap", "create", "rbd/" + snapshot + "@" + snapshot);
    omap(journal, volumeObject).put("csi.imageid", idOf(volume));
    omap(journal, snapshotObject).put("csi.imageid", idOf(snapshot));
    new Omaps(CLUSTER, "rbd", "").put(journal);

    try (RadosCluster cluster = CLUSTER.connect();
        TestDriver driver = TestDriver.startWithCredentials(CLUSTER, "default")) {
      long pool = cluster.poolId("rbd");
      String volumeId = id(pool, volumeObject.substring("csi.volume.".length()));
      String snapshotId = id(pool, snapshotObject.substring("csi.snap.".length()));
      assertThat(
              driver
                  .controller()
                  .listVolumes(ListVolumesRequest.getDefaultInstance())
                  .getEntriesList())
          .filteredOn(entry -> entry.getVolume().getVolumeId().equals(volumeId))
          .singleElement()
          .satisfies(
              entry -> {
                assertThat(entry.getVolume().getCapacityBytes()).isEqualTo(64L << 20);
                assertThat(entry.getVolume().getVolumeContextMap())
                    .containsEntry("imageName", volume);
              });
      Snapshot listed =
          driver
              .controller()
              .listSnapshots(ListSnapshotsRequest.newBuilder().setSnapshotId(snapshotId).build())
              .getEntries(0)
              .getSnapshot();
      assertThat(listed.getSourceVolumeId()).isEqualTo(volumeId);
      assertThat(listed.getSizeBytes()).isEqualTo(64L << 20);
      assertThat(listed.getReadyToUse()).isTrue();
      assertThat(
              driver
                  .controller()
                  .deleteSnapshot(
                      DeleteSnapshotRequest.newBuilder()
                          .setSnapshotId(snapshotId)
                          .putAllSecrets(driver.secrets())
                          .build()))
          .isNotNull();
      driver.delete(volumeId);
    }
    assertThat(CLUSTER.rbd("ls", "rbd")).doesNotContain(volume, snapshot);
  }

  private static String id(long pool, String uuid) {
    return new VolumeId(TestDriver.CLUSTER_ID, pool, UUID.fromString(uuid)).toString();
  }

  private static Map<String, String> omap(Map<String, Map<String, String>> journal, String object) {
    return journal.computeIfAbsent(object, missing -> new LinkedHashMap<>());
  }

  private static String key(Map<String, ?> journal, String prefix) {
    return journal.keySet().stream().filter(k -> k.startsWith(prefix)).findFirst().orElseThrow();
  }
}
