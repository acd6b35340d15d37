package io.cephcsi.driver.interchange;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.GetSnapshotRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsResponse;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.ListVolumesResponse;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Topology;
import io.cephcsi.proto.csi.v1.TopologyRequirement;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What ceph-csi left on a real cluster is served like what this driver made, and what this driver
 * makes is what ceph-csi would have made, key by key and byte by byte.
 */
class GoldenInterchangeIT {
  private static final String VOLUME = "RBD CreateVolume pvc-1";
  private static final String SNAPSHOT = "RBD CreateSnapshot snap-1";
  private static final String RESTORED = "RBD CreateVolume pvc-2 from snap-1";
  private static final String COPIED = GoldenLayout.ALL_LIVE;
  private static final String DELETED =
      "RBD DeleteVolume pvc-1, DeleteSnapshot snap-1 (clones remain)";
  private static final List<String> STEPS = List.of(VOLUME, SNAPSHOT, RESTORED, COPIED, DELETED);
  private static final String FEATURES =
      "layering,exclusive-lock,object-map,fast-diff,deep-flatten";
  private static final Pattern UUID_TEXT =
      Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");
  private static final ImageContent CONTENT = new ImageContent(CLUSTER);

  @RegisterExtension
  static final TestDriver driver = TestDriver.rbd(CLUSTER).withCredentials().start();

  private static long poolId;

  @BeforeAll
  static void start() {
    try (RadosCluster cluster = CLUSTER.connect()) {
      poolId = cluster.poolId("rbd");
    }
  }

  /** The identifier here of what has a uuid in the recording. */
  private static String id(String uuid) {
    return new VolumeId(TestDriver.CLUSTER_ID, poolId, UUID.fromString(uuid)).toString();
  }

  private static String uuid(String id) {
    return VolumeId.parse(id).orElseThrow().uuid().toString();
  }

  /** The request names of a directory after a call, with the uuids. */
  private static Map<String, String> names(String call, String directory, String prefix) {
    Map<String, String> names = new TreeMap<>();
    Golden.journal(call)
        .getOrDefault(directory, Map.of())
        .forEach((key, uuid) -> names.put(key.substring(prefix.length()), uuid));
    return names;
  }

  private static Map<String, String> volumes(String call) {
    return names(call, "csi.volumes.default", "csi.volume.");
  }

  private static Map<String, String> snapshots(String call) {
    return names(call, "csi.snaps.default", "csi.snap.");
  }

  /** All uuids that are recorded of RBD after a call. */
  private static Set<String> uuids(String call) {
    Set<String> uuids = new TreeSet<>();
    JsonNode step = Golden.after(call);
    for (String text : List.of(step.get("journal").toString(), step.get("rbd").toString())) {
      UUID_TEXT.matcher(text).results().forEach(match -> uuids.add(match.group()));
    }
    return uuids;
  }

  private static CreateVolumeRequest.Builder request(String name) {
    return driver
        .createRequest(name, 64 * MIB)
        .putParameters("imageFeatures", FEATURES)
        .putParameters("csi.storage.k8s.io/pvc/namespace", "default");
  }

  private static Volume create(CreateVolumeRequest.Builder request) {
    return driver.controller().createVolume(request.build()).getVolume();
  }

  private static VolumeContentSource source(String kind, String id) {
    VolumeContentSource.Builder source = VolumeContentSource.newBuilder();
    return kind.equals("snapshot")
        ? source
            .setSnapshot(VolumeContentSource.SnapshotSource.newBuilder().setSnapshotId(id))
            .build()
        : source.setVolume(VolumeContentSource.VolumeSource.newBuilder().setVolumeId(id)).build();
  }

  /** The call that a container orchestrator repeats, of a volume that is recorded. */
  private static Volume repeat(String name) {
    String call =
        STEPS.stream().filter(s -> s.startsWith("RBD CreateVolume " + name)).findFirst().orElse("");
    CreateVolumeRequest.Builder request = request(name);
    if (!call.isEmpty()) {
      Golden.after(call)
          .get("answer")
          .path("content_source")
          .properties()
          .forEach(
              kind ->
                  request.setVolumeContentSource(
                      source(kind.getKey(), id(uuid(kind.getValue().elements().next().asText())))));
    }
    Volume volume = create(request);
    if (!call.isEmpty()) {
      assertAnswer(call, volume, Map.of());
    }
    return volume;
  }

  /** The answer is ceph-csi's, but for the cluster's id and the uuids. */
  private static void assertAnswer(String call, Volume volume, Map<String, String> ours) {
    JsonNode answer = Golden.after(call).get("answer");
    Map<String, String> context = new TreeMap<>();
    answer
        .get("volume_context")
        .properties()
        .forEach(
            entry -> {
              String value = entry.getValue().asText();
              String mine =
                  UUID_TEXT.matcher(value).replaceAll(m -> ours.getOrDefault(m.group(), m.group()));
              context.put(entry.getKey(), mine.equals("bar") ? TestDriver.CLUSTER_ID : mine);
            });
    assertThat(volume.getVolumeContextMap()).isEqualTo(context);
    assertThat(volume.getCapacityBytes()).isEqualTo(answer.get("capacity_bytes").asLong());
    String uuid = uuid(answer.get("volume_id").asText());
    assertThat(uuid(volume.getVolumeId())).isEqualTo(ours.getOrDefault(uuid, uuid));
    assertThat(volume.hasContentSource()).isEqualTo(answer.has("content_source"));
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '"',
      value = {
        "\"" + VOLUME + "\",true",
        "\"" + SNAPSHOT + "\",true",
        "\"" + SNAPSHOT + "\",false",
        "\"" + RESTORED + "\",true",
        "\"" + RESTORED + "\",false",
        "\"" + COPIED + "\",true",
        "\"" + COPIED + "\",false",
        "\"" + DELETED + "\",true",
        "\"" + DELETED + "\",false"
      })
  void whatCephCsiLeftIsServedAndDeletedWithoutATrace(String call, boolean sourcesFirst) {
    Set<String> objects = POOL.everything();
    List<String> others = inTheTrash(); // of other tests on this cluster
    List<String> trashed = GoldenLayout.layOut(CLUSTER, call);
    Picture laidOut = Picture.taken(CLUSTER, "rbd", "rbd", "", uuids(call));
    assertThat(laidOut.with(Map.of())).isEqualTo(Picture.golden(call).with(Map.of()));

    assertListed(call);
    volumes(call)
        .forEach(
            (name, uuid) -> {
              assertThat(repeat(name).getVolumeId()).isEqualTo(id(uuid));
              assertThat(got(id(uuid)).getCapacityBytes()).isEqualTo(64 * MIB);
            });
    String parent = volumes(COPIED).get("pvc-1");
    snapshots(call)
        .forEach(
            (name, uuid) -> {
              Snapshot repeated = driver.snapshot(name, id(parent));
              assertThat(repeated.getSnapshotId()).isEqualTo(id(uuid));
              assertThat(snapshot(id(uuid))).isEqualTo(repeated);
            });
    assertThat(Picture.taken(CLUSTER, "rbd", "rbd", "", uuids(call)))
        .as("asking and repeating changes nothing")
        .isEqualTo(laidOut);

    List<String> volumes = new ArrayList<>();
    volumes(call).values().forEach(uuid -> volumes.add(id(uuid)));
    List<String> snapshots = new ArrayList<>();
    snapshots(call).values().forEach(uuid -> snapshots.add(id(uuid)));
    use(List.copyOf(volumes), List.copyOf(snapshots), volumes, snapshots);

    if (sourcesFirst) {
      volumes.forEach(driver::delete);
      snapshots.forEach(driver::deleteSnapshot);
    } else {
      java.util.Collections.reverse(volumes);
      snapshots.forEach(driver::deleteSnapshot);
      volumes.forEach(driver::delete);
    }
    removeGroup(call);
    removeAsTheManager(trashed, others);
    assertNothingIsLeft(objects, call);
  }

  /** What ceph-csi put into the trash, the task that it gave to the manager removes. */
  private static void removeAsTheManager(List<String> trashed, List<String> others) {
    if (trashed.isEmpty()) {
      return;
    }
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .pollInterval(Duration.ofMillis(300))
        .untilAsserted(
            () ->
                assertThat(inTheTrash())
                    .filteredOn(id -> !others.contains(id))
                    .containsExactlyInAnyOrderElementsOf(trashed));
    trashed.forEach(id -> CLUSTER.rbd("trash", "rm", "--no-progress", "rbd/" + id));
  }

  private static List<String> inTheTrash() {
    return CLUSTER.rbd("trash", "ls", "rbd").lines().map(l -> l.split(" ", 2)[0]).toList();
  }

  private static void assertListed(String call) {
    ListVolumesResponse all =
        driver.controller().listVolumes(ListVolumesRequest.getDefaultInstance());
    volumes(call)
        .values()
        .forEach(
            uuid ->
                assertThat(all.getEntriesList())
                    .filteredOn(entry -> entry.getVolume().getVolumeId().equals(id(uuid)))
                    .singleElement()
                    .satisfies(
                        entry -> {
                          assertThat(entry.getVolume().getCapacityBytes()).isEqualTo(64 * MIB);
                          assertThat(entry.getVolume().getVolumeContextMap())
                              .containsEntry("imageName", "csi-vol-" + uuid);
                        }));
    ListSnapshotsResponse ofVolume =
        driver
            .controller()
            .listSnapshots(
                ListSnapshotsRequest.newBuilder()
                    .setSourceVolumeId(id(volumes(COPIED).get("pvc-1")))
                    .build());
    assertThat(ofVolume.getEntriesList())
        .extracting(entry -> entry.getSnapshot().getSnapshotId())
        .containsExactlyElementsOf(snapshots(call).values().stream().map(s -> id(s)).toList());
  }

  private static Volume got(String id) {
    return driver
        .controller()
        .controllerGetVolume(ControllerGetVolumeRequest.newBuilder().setVolumeId(id).build())
        .getVolume();
  }

  private static Snapshot snapshot(String id) {
    return driver
        .controller()
        .getSnapshot(GetSnapshotRequest.newBuilder().setSnapshotId(id).build())
        .getSnapshot();
  }

  /** Clones, snapshots, restores, reclaims and expands all; what is made is added to the lists. */
  private static void use(
      List<String> volumes,
      List<String> snapshots,
      List<String> allVolumes,
      List<String> allSnaps) {
    for (String snapshot : snapshots) {
      Volume restored = driver.restore("r-" + snapshot, 0, snapshot);
      allVolumes.add(restored.getVolumeId());
      assertHasContent(restored.getVolumeId());
    }
    for (String volume : volumes) {
      assertHasContent(volume);
      Volume copy = driver.copy("c-" + volume, 0, volume);
      allVolumes.add(copy.getVolumeId());
      assertHasContent(copy.getVolumeId());
      Snapshot snapshot = driver.snapshot("s-" + volume, volume);
      allSnaps.add(snapshot.getSnapshotId());
      Volume restored = driver.restore("r-" + volume, 0, snapshot.getSnapshotId());
      allVolumes.add(restored.getVolumeId());
      assertHasContent(restored.getVolumeId());
      assertThat(
              driver
                  .reclaim()
                  .controllerReclaimSpace(
                      ControllerReclaimSpaceRequest.newBuilder()
                          .setVolumeId(volume)
                          .putAllSecrets(driver.secrets())
                          .build())
                  .hasPostUsage())
          .isTrue();
      assertHasContent(volume);
      assertThat(
              driver
                  .controller()
                  .controllerExpandVolume(
                      ControllerExpandVolumeRequest.newBuilder()
                          .setVolumeId(volume)
                          .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(80 * MIB))
                          .putAllSecrets(driver.secrets())
                          .build())
                  .getCapacityBytes())
          .isEqualTo(80 * MIB);
    }
  }

  private static int content;

  private static void assertHasContent(String volumeId) {
    int checksum = CONTENT.checksum("rbd/csi-vol-" + uuid(volumeId));
    if (content == 0) {
      content = checksum;
    }
    assertThat(checksum).isEqualTo(content);
  }

  /** The recorded group is nobody's here: it must still be there. */
  private static void removeGroup(String call) {
    Omaps omaps = new Omaps(CLUSTER, "rbd", "");
    Golden.journal(call)
        .forEach(
            (object, omap) -> {
              if (object.startsWith("csi.groups.") || object.startsWith("csi.volume.group.")) {
                assertThat(omaps.of(object)).isEqualTo(omap);
                omaps.remove(object);
              }
            });
  }

  private static void assertNothingIsLeft(Set<String> before, String call) {
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .pollInterval(Duration.ofMillis(300))
        .untilAsserted(() -> assertThat(POOL.left(before)).isEmpty());
    Picture left = Picture.taken(CLUSTER, "rbd", "rbd", "", uuids(call)).with(Map.of());
    assertThat(left).isEqualTo(new Picture(Map.of(), Map.of(), Set.of()));
  }

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

  private static Picture taken(Map<String, String> theirs) {
    return Picture.taken(CLUSTER, "rbd", "rbd", "", theirs.keySet()).withoutOwnKeys().with(theirs);
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
        driver
            .controller()
            .createSnapshot(
                driver
                    .snapshotRequest("snap-1", volume.getVolumeId())
                    .putParameters("clusterID", request.getParametersOrThrow("clusterID"))
                    .build())
            .getSnapshot();
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

  private static long poolId(String pool) {
    try (RadosCluster cluster = CLUSTER.connect()) {
      return cluster.poolId(pool);
    }
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
