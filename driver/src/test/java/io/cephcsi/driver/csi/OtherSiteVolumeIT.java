package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeResponse;
import io.cephcsi.proto.csi.v1.ControllerModifyVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Volumes that a caller knows by their ids of another site, as after a failover. */
class OtherSiteVolumeIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final long MIB = 1L << 20;
  private static final long POOL_THERE = 7_777;

  @RegisterExtension
  static final TestDriver DRIVER = TestDriver.rbd(CLUSTER).withCredentials().start();

  private final Volume volume = DRIVER.create("volume-" + UUID.randomUUID(), 16 * MIB);

  private static Path mapping() {
    return DRIVER.folder().resolve("cluster-mapping.json");
  }

  @AfterEach
  void unmap() throws IOException {
    Files.deleteIfExists(mapping());
    DRIVER.delete(volume.getVolumeId());
  }

  private VolumeId here() {
    return VolumeId.parse(volume.getVolumeId()).orElseThrow();
  }

  private String there(String clusterId) {
    return new VolumeId(clusterId, POOL_THERE, here().uuid()).toString();
  }

  private void map(String clusterId) throws IOException {
    map(clusterId, POOL_THERE);
  }

  private void map(String clusterId, long pool) throws IOException {
    Files.writeString(
        mapping(),
        """
        [{"clusterIDMapping": {"%s": "%s"}, "RBDPoolIDMapping": [{"1000": "%d"}, {"%d": "%d"}]}]
        """
            .formatted(clusterId, TestDriver.CLUSTER_ID, pool, pool, here().location()));
  }

  private boolean imageExists() {
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool())) {
      return new RbdPool(io)
          .list().stream().anyMatch(image -> image.name().equals(TestDriver.image(volume)));
    }
  }

  /** By an id of a cluster that is not configured, and of one whose pools have other ids. */
  @ParameterizedTest
  @ValueSource(strings = {"lost-site", TestDriver.CLUSTER_ID})
  void theirIdsAreUnderstoodByTheMapping(String clusterId) throws IOException {
    String id = there(clusterId);
    assertStatus(Code.NOT_FOUND, () -> DRIVER.expand(id, 32 * MIB));
    map(clusterId);
    assertThat(DRIVER.expand(id, 32 * MIB)).isEqualTo(32 * MIB);
    assertStatus(
        Code.FAILED_PRECONDITION,
        "volume " + id + " is not mirrored",
        () -> TestReplication.of(DRIVER).info(id));
    DRIVER.delete(id);
    assertThat(imageExists()).isFalse();
    DRIVER.delete(id); // again
  }

  /** The driver has credentials for the cluster here only. */
  @Test
  void callsWithoutSecretsUseThoseForTheClusterThatStandsForTheirs() throws IOException {
    String id = there("lost-site");
    ControllerPublishVolumeRequest publish =
        ControllerPublishVolumeRequest.newBuilder()
            .setVolumeId(id)
            .setNodeId(TestDriver.NODE_ID)
            .setVolumeCapability(TestDriver.singleWriter())
            .build();
    ControllerUnpublishVolumeRequest unpublish =
        ControllerUnpublishVolumeRequest.newBuilder()
            .setVolumeId(id)
            .setNodeId(TestDriver.NODE_ID)
            .build();
    ControllerModifyVolumeRequest modify =
        ControllerModifyVolumeRequest.newBuilder()
            .setVolumeId(id)
            .putMutableParameters("qos.iopsLimit", "77")
            .build();
    ControllerGetVolumeRequest get =
        ControllerGetVolumeRequest.newBuilder().setVolumeId(id).build();
    var controller = DRIVER.controller();
    assertStatus(
        Code.UNAUTHENTICATED, "lost-site", () -> controller.controllerPublishVolume(publish));
    assertStatus(Code.UNAUTHENTICATED, "lost-site", () -> controller.controllerGetVolume(get));

    map("lost-site");
    assertThat(controller.controllerPublishVolume(publish)).isNotNull();
    ControllerGetVolumeResponse seen = controller.controllerGetVolume(get);
    assertThat(seen.getVolume().getVolumeId()).isEqualTo(id);
    assertThat(seen.getStatus().getPublishedNodeIdsList()).containsExactly(TestDriver.NODE_ID);
    assertThat(seen.getStatus().getVolumeCondition().getAbnormal()).isFalse();
    assertThat(publishedTo()).containsExactly(TestDriver.NODE_ID);
    assertThat(controller.controllerModifyVolume(modify)).isNotNull();
    assertThat(
            CLUSTER.rbd(
                "image-meta",
                "get",
                CLUSTER.pool() + "/" + TestDriver.image(volume),
                "conf_rbd_qos_iops_limit"))
        .contains("77");
    assertThat(controller.controllerUnpublishVolume(unpublish)).isNotNull();
    assertThat(publishedTo()).isEmpty();
    assertThat(controller.controllerUnpublishVolume(unpublish)).isNotNull(); // again
  }

  private List<String> publishedTo() {
    return DRIVER
        .controller()
        .controllerGetVolume(
            ControllerGetVolumeRequest.newBuilder().setVolumeId(volume.getVolumeId()).build())
        .getStatus()
        .getPublishedNodeIdsList();
  }

  /** The number of their pool may be that of a pool here which the user may not read. */
  @Test
  void aPoolThatTheUserMayNotReadIsNotTheEndOfTheSearch() throws IOException {
    String user = "one-pool";
    String pool = "profile rbd pool=" + CLUSTER.pool();
    String key =
        CLUSTER.ceph(
            "auth", "get-or-create-key", "client." + user, "mon", "profile rbd", "osd", pool);
    long forbidden;
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.otherPool())) {
      forbidden = io.poolId();
    }
    ControllerExpandVolumeRequest request =
        ControllerExpandVolumeRequest.newBuilder()
            .setVolumeId(new VolumeId(TestDriver.CLUSTER_ID, forbidden, here().uuid()).toString())
            .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(32 * MIB))
            .putAllSecrets(Map.of("userID", user, "userKey", key.strip()))
            .build();
    assertStatus(Code.PERMISSION_DENIED, () -> DRIVER.controller().controllerExpandVolume(request));
    map(TestDriver.CLUSTER_ID, forbidden);
    assertThat(DRIVER.controller().controllerExpandVolume(request).getCapacityBytes())
        .isEqualTo(32 * MIB);
  }

  @Test
  void whatTheMappingDoesNotTellIsNotDeleted() throws IOException {
    String id = there("lost-site");
    assertStatus(Code.FAILED_PRECONDITION, "lost-site", () -> DRIVER.delete(id));
    map("another-site");
    assertStatus(Code.FAILED_PRECONDITION, "lost-site", () -> DRIVER.delete(id));
    Files.writeString(mapping(), "[{\"clusterIDMapping\": 1}]");
    assertStatus(Code.FAILED_PRECONDITION, "cluster-mapping.json", () -> DRIVER.delete(id));
    assertThat(DRIVER.expand(volume.getVolumeId(), 32 * MIB)).isEqualTo(32 * MIB); // needs no file
    assertThat(imageExists()).isTrue();
  }

  @Test
  void aMirroredImageWithoutAnEntryIsNotTakenForDeleted() throws IOException {
    map("lost-site");
    String id = there("lost-site");
    Omaps journal = new Omaps(CLUSTER, CLUSTER.pool(), "");
    String entry = "csi.volume." + here().uuid();
    Map<String, String> keys = journal.of(entry);
    journal.remove(entry);
    assertStatus(Code.FAILED_PRECONDITION, "no journal entry", () -> DRIVER.delete(id));
    assertStatus(Code.NOT_FOUND, () -> DRIVER.expand(id, 32 * MIB));
    journal.put(Map.of(entry, keys));
    assertThat(DRIVER.expand(id, 32 * MIB)).isEqualTo(32 * MIB);
  }

  @Test
  void anotherVolumeOfTheMappedPoolIsNotTakenForIt() throws IOException {
    map("lost-site");
    String id = new VolumeId("lost-site", POOL_THERE, UUID.randomUUID()).toString();
    assertStatus(Code.NOT_FOUND, () -> DRIVER.expand(id, 32 * MIB));
    DRIVER.delete(id);
    assertThat(imageExists()).isTrue();
  }
}
