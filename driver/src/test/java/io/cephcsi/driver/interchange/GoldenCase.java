package io.cephcsi.driver.interchange;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.GetSnapshotRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import io.cephcsi.testing.TestCluster;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** State as ceph-csi recorded it, and a driver beside it. */
abstract class GoldenCase {
  static final String VOLUME = "RBD CreateVolume pvc-1";
  static final String SNAPSHOT = "RBD CreateSnapshot snap-1";
  static final String RESTORED = "RBD CreateVolume pvc-2 from snap-1";
  static final String COPIED = GoldenLayout.ALL_LIVE;
  static final String DELETED = "RBD DeleteVolume pvc-1, DeleteSnapshot snap-1 (clones remain)";
  static final String FEATURES = "layering,exclusive-lock,object-map,fast-diff,deep-flatten";
  static final Pattern UUID_TEXT = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  static final long MIB = 1L << 20;
  static final TestCluster CLUSTER = TestCluster.shared();
  static final PoolState POOL = new PoolState(CLUSTER, "rbd");

  @SuppressWarnings("NullAway.Init")
  static TestDriver driver;

  static long poolId;

  @BeforeAll
  static void start() {
    driver = TestDriver.rbd(CLUSTER).withCredentials().start();
    try (RadosCluster cluster = CLUSTER.connect()) {
      poolId = cluster.poolId("rbd");
    }
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  /** The identifier here of what has a uuid in the recording. */
  static String id(String uuid) {
    return new VolumeId(TestDriver.CLUSTER_ID, poolId, UUID.fromString(uuid)).toString();
  }

  static String uuid(String id) {
    return VolumeId.parse(id).orElseThrow().uuid().toString();
  }

  /** The request names of a directory after a call, with the uuids. */
  static Map<String, String> names(String call, String directory, String prefix) {
    Map<String, String> names = new TreeMap<>();
    Golden.journal(call)
        .getOrDefault(directory, Map.of())
        .forEach((key, uuid) -> names.put(key.substring(prefix.length()), uuid));
    return names;
  }

  static Map<String, String> volumes(String call) {
    return names(call, "csi.volumes.default", "csi.volume.");
  }

  static Map<String, String> snapshots(String call) {
    return names(call, "csi.snaps.default", "csi.snap.");
  }

  /** All uuids that are recorded of RBD after a call. */
  static Set<String> uuids(String call) {
    Set<String> uuids = new TreeSet<>();
    JsonNode step = Golden.after(call);
    for (String text : List.of(step.get("journal").toString(), step.get("rbd").toString())) {
      UUID_TEXT.matcher(text).results().forEach(match -> uuids.add(match.group()));
    }
    return uuids;
  }

  static CreateVolumeRequest.Builder request(String name) {
    return driver
        .createRequest(name, 64 * MIB)
        .putParameters("imageFeatures", FEATURES)
        .putParameters("csi.storage.k8s.io/pvc/namespace", "default");
  }

  static Volume create(CreateVolumeRequest.Builder request) {
    return driver.controller().createVolume(request.build()).getVolume();
  }

  static VolumeContentSource source(String kind, String id) {
    VolumeContentSource.Builder source = VolumeContentSource.newBuilder();
    return kind.equals("snapshot")
        ? source
            .setSnapshot(VolumeContentSource.SnapshotSource.newBuilder().setSnapshotId(id))
            .build()
        : source.setVolume(VolumeContentSource.VolumeSource.newBuilder().setVolumeId(id)).build();
  }

  /** The answer is ceph-csi's, but for the cluster's id and the uuids. */
  static void assertAnswer(String call, Volume volume, Map<String, String> ours) {
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

  static Snapshot snapshot(String id) {
    return driver
        .controller()
        .getSnapshot(GetSnapshotRequest.newBuilder().setSnapshotId(id).build())
        .getSnapshot();
  }

  static Picture taken(Map<String, String> theirs) {
    return Picture.taken(CLUSTER, "rbd", "rbd", "", theirs.keySet()).withoutOwnKeys().with(theirs);
  }

  static long poolId(String pool) {
    try (RadosCluster cluster = CLUSTER.connect()) {
      return cluster.poolId(pool);
    }
  }
}
