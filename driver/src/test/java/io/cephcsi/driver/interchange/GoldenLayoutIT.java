package io.cephcsi.driver.interchange;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Topology;
import io.cephcsi.proto.csi.v1.TopologyRequirement;
import io.cephcsi.proto.csi.v1.Volume;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** What this driver makes is what ceph-csi would have made, key by key and byte by byte. */
class GoldenLayoutIT extends GoldenCase {

  @Test
  void whatThisDriverMakesIsWhatCephCsiMakes() {
    Map<String, String> theirs = new HashMap<>(); // ours to theirs
    Map<String, String> ours = new HashMap<>();
    Volume first = create(request("pvc-1"));
    pair(theirs, ours, first.getVolumeId(), volumes(COPIED).get("pvc-1"));
    assertSame(VOLUME, theirs);
    assertAnswer(VOLUME, first, ours);

    Snapshot snapshot = driver.snapshot("snap-1", first.getVolumeId());
    pair(theirs, ours, snapshot.getSnapshotId(), snapshots(COPIED).get("snap-1"));
    assertSame(SNAPSHOT, theirs);

    Volume restored =
        create(
            request("pvc-2").setVolumeContentSource(source("snapshot", snapshot.getSnapshotId())));
    pair(theirs, ours, restored.getVolumeId(), volumes(COPIED).get("pvc-2"));
    assertSame(RESTORED, theirs);
    assertAnswer(RESTORED, restored, ours);

    Volume copied =
        create(request("pvc-3").setVolumeContentSource(source("volume", first.getVolumeId())));
    pair(theirs, ours, copied.getVolumeId(), volumes(COPIED).get("pvc-3"));
    assertSame(COPIED, theirs);
    assertAnswer(COPIED, copied, ours);

    driver.delete(first.getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    Picture expected =
        Picture.golden(DELETED).without(volumes(DELETED).get("pvc-4")).with(Map.of());
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(taken(theirs)).isEqualTo(expected));

    driver.delete(restored.getVolumeId());
    driver.delete(copied.getVolumeId());
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(
            () -> assertThat(taken(theirs)).isEqualTo(new Picture(Map.of(), Map.of(), Set.of())));
  }

  private static void pair(
      Map<String, String> theirs, Map<String, String> ours, String id, String recorded) {
    theirs.put(uuid(id), recorded);
    ours.put(recorded, uuid(id));
  }

  private static void assertSame(String call, Map<String, String> theirs) {
    assertThat(taken(theirs)).isEqualTo(Picture.golden(call).with(Map.of()));
  }

  /** A volume and a snapshot of it elsewhere differ from the recorded ones as they must. */
  private static void assertVariant(
      TestDriver driver,
      CreateVolumeRequest.Builder request,
      String journalPool,
      String pool,
      String namespace,
      Map<String, String> differences,
      String features) {
    Volume volume = driver.controller().createVolume(request.build()).getVolume();
    Snapshot snapshot =
        driver.snapshot(
            driver
                .snapshotRequest("snap-1", volume.getVolumeId())
                .putParameters("clusterID", request.getParametersOrThrow("clusterID")));
    String volumeUuid = uuid(volume.getVolumeId());
    String snapshotUuid = uuid(snapshot.getSnapshotId());
    Map<String, String> ours =
        Map.of(
            volumes(COPIED).get("pvc-1"), volumeUuid,
            snapshots(COPIED).get("snap-1"), snapshotUuid);
    Picture golden = Picture.golden(SNAPSHOT).with(ours).with(differences);
    String image = "csi-vol-" + volumeUuid;
    if (!features.isEmpty()) {
      golden.images().get(image).put("features", features);
    }
    if (!journalPool.equals(pool)) {
      String journalPoolId = HexFormat.of().toHexDigits(poolId(journalPool));
      golden.journal().get("csi.volume." + volumeUuid).put("csi.journalpool", journalPoolId);
      golden.journal().get("csi.snap." + snapshotUuid).put("csi.journalpool", journalPoolId);
      String imagePoolId = HexFormat.of().toHexDigits(poolId(pool));
      golden
          .journal()
          .get("csi.volumes.default")
          .put("csi.volume.pvc-1", imagePoolId + "/" + volumeUuid);
      golden
          .journal()
          .get("csi.snaps.default")
          .put("csi.snap.snap-1", imagePoolId + "/" + snapshotUuid);
    }
    Set<String> uuids = Set.of(volumeUuid, snapshotUuid);
    assertThat(Picture.taken(CLUSTER, journalPool, pool, namespace, uuids).with(Map.of()))
        .isEqualTo(golden);

    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(
            () ->
                assertThat(
                        Picture.taken(CLUSTER, journalPool, pool, namespace, uuids).with(Map.of()))
                    .isEqualTo(new Picture(Map.of(), Map.of(), Set.of())));
  }

  @Test
  void inAnotherPool() {
    CreateVolumeRequest.Builder request =
        request("pvc-1").putParameters("pool", CLUSTER.otherPool());
    String pool = CLUSTER.otherPool();
    assertVariant(driver, request, pool, pool, "", Map.of(), "");
  }

  @Test
  void withADataPool() {
    CreateVolumeRequest.Builder request = request("pvc-1").putParameters("dataPool", "rbd-data");
    assertVariant(
        driver,
        request,
        "rbd",
        "rbd",
        "",
        Map.of(),
        "[data-pool, deep-flatten, exclusive-lock, fast-diff, layering, object-map, operations]");
  }

  @Test
  void inANamespace() {
    TestDriver.makeNamespace(CLUSTER);
    CreateVolumeRequest.Builder request =
        request("pvc-1").putParameters("clusterID", TestDriver.IN_NAMESPACE);
    assertVariant(driver, request, "rbd", "rbd", "ns1", Map.of(), "");
  }

  @Test
  void ofAnotherInstance() {
    try (TestDriver blue = TestDriver.rbd(CLUSTER).instance("blue").withCredentials().start()) {
      Map<String, String> differences =
          Map.of("csi.volumes.default", "csi.volumes.blue", "csi.snaps.default", "csi.snaps.blue");
      assertVariant(blue, request("pvc-1"), "rbd", "rbd", "", differences, "");
    }
  }

  @Test
  void withTheJournalInAnotherPool() {
    String pool = CLUSTER.otherPool();
    CreateVolumeRequest.Builder request =
        request("pvc-1")
            .putParameters(
                "topologyConstrainedPools",
                "[{\"poolName\": \""
                    + pool
                    + "\", \"domainSegments\": [{\"domainLabel\": \"zone\", \"value\": \"b\"}]}]")
            .setAccessibilityRequirements(
                TopologyRequirement.newBuilder()
                    .addRequisite(
                        Topology.newBuilder().putSegments("topology.rbd.csi.ceph.com/zone", "b")));
    assertVariant(driver, request, "rbd", pool, "", Map.of(), "");
  }
}
