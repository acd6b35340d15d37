package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.GetPluginInfoRequest;
import io.cephcsi.proto.csi.v1.ProbeRequest;
import io.cephcsi.proto.csi.v1.ValidateVolumeCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.util.Map;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class RbdControllerIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");

  @RegisterExtension static final TestDriver driver = TestDriver.rbd(CLUSTER).start();

  private String name;

  @BeforeEach
  void name() {
    name = "pvc-" + UUID.randomUUID();
  }

  @Test
  void saysWhoItIsAndThatItIsReady() {
    assertThat(driver.identity().getPluginInfo(GetPluginInfoRequest.getDefaultInstance()).getName())
        .isEqualTo("rbd.csi.ceph.com");
    Awaitility.await()
        .until(
            () -> driver.identity().probe(ProbeRequest.getDefaultInstance()).getReady().getValue());
  }

  @Test
  void makesAnImageWithJournalAndDeletesBoth() {
    Volume volume = driver.create(name, 64 * MIB);

    VolumeId id = VolumeId.parse(volume.getVolumeId()).orElseThrow();
    String image = "csi-vol-" + id.uuid();
    assertThat(volume.getCapacityBytes()).isEqualTo(64 * MIB);
    assertThat(volume.getVolumeContextMap())
        .containsEntry("imageName", image)
        .containsEntry("journalPool", "rbd")
        .containsEntry("pool", "rbd")
        .containsEntry("clusterID", TestDriver.CLUSTER_ID);
    assertThat(CLUSTER.rbd("info", "rbd/" + image, "--format", "json"))
        .contains("\"size\":67108864")
        .contains("\"fast-diff\"");
    assertThat(CLUSTER.rados("-p", "rbd", "listomapvals", "csi.volumes.default"))
        .contains("csi.volume." + name)
        .contains(id.uuid().toString().substring(0, 8));
    assertThat(CLUSTER.rados("-p", "rbd", "listomapkeys", "csi.volume." + id.uuid()).lines())
        .containsExactly("csi.imageid", "csi.imagename", "csi.volname");

    driver.delete(volume.getVolumeId());
    driver.delete(volume.getVolumeId());

    assertThat(CLUSTER.rbd("ls", "rbd")).doesNotContain(image);
    assertThat(CLUSTER.rados("-p", "rbd", "listomapkeys", "csi.volumes.default"))
        .doesNotContain(name);
    assertThat(CLUSTER.rados("-p", "rbd", "ls")).doesNotContain(id.uuid().toString());
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(CLUSTER.rbd("trash", "ls", "rbd")).doesNotContain(image));
  }

  @Test
  void theSameNameGivesTheSameVolumeAndAnotherSizeIsRefused() {
    Volume volume = driver.create(name, 64 * MIB);
    assertThat(driver.create(name, 64 * MIB)).isEqualTo(volume);
    assertThat(driver.create(name, 32 * MIB)).isEqualTo(volume);
    assertStatus(Code.ALREADY_EXISTS, () -> driver.create(name, 128 * MIB));
    assertStatus(
        Code.ALREADY_EXISTS,
        () ->
            driver
                .controller()
                .createVolume(
                    driver
                        .createRequest(name, 0)
                        .setCapacityRange(CapacityRange.newBuilder().setLimitBytes(MIB))
                        .build()));
    driver.delete(volume.getVolumeId());
  }

  @Test
  void anImageThatSomebodyPutInTheFirstOnesPlaceIsTheVolumes() {
    Volume volume = driver.create(name, 64 * MIB);
    String image = "rbd/" + TestDriver.image(volume);
    CLUSTER.rbd("mv", image, image + "-old");
    assertStatus(Code.FAILED_PRECONDITION, () -> driver.create(name, 64 * MIB));
    CLUSTER.rbd("cp", image + "-old", image, "--no-progress");
    assertStatus(Code.ABORTED, () -> driver.create(name, 64 * MIB));
    CLUSTER.rbd("rm", image + "-old", "--no-progress");

    assertThat(driver.snapshot(name, volume.getVolumeId()).getSizeBytes()).isEqualTo(64 * MIB);
    driver.deleteSnapshot(driver.snapshot(name, volume.getVolumeId()).getSnapshotId());
    assertThat(driver.create(name, 64 * MIB)).isEqualTo(volume);
    String id = PoolState.json(CLUSTER.rbd("info", image, "--format", "json")).path("id").asText();
    String object = "csi.volume." + VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid();
    assertThat(CLUSTER.rados("-p", "rbd", "getomapval", object, "csi.imageid", "-")).contains(id);

    CLUSTER.rbd("trash", "mv", image);
    assertStatus(Code.FAILED_PRECONDITION, "trash", () -> driver.create(name, 64 * MIB));
    CLUSTER.rbd("trash", "restore", "rbd/" + id);
    assertThat(driver.create(name, 64 * MIB)).isEqualTo(volume);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void capacityIsTheSmallestThatFits() {
    Volume volume = driver.create(name, 64 * MIB + 1);
    assertThat(volume.getCapacityBytes()).isEqualTo(64 * MIB + 4096);
    driver.delete(volume.getVolumeId());

    Volume standard = driver.create(name, 0);
    assertThat(standard.getCapacityBytes()).isEqualTo(1L << 30);
    driver.delete(standard.getVolumeId());

    assertStatus(
        Code.OUT_OF_RANGE,
        () ->
            driver
                .controller()
                .createVolume(
                    driver
                        .createRequest(name, 0)
                        .setCapacityRange(
                            CapacityRange.newBuilder().setRequiredBytes(4097).setLimitBytes(4098))
                        .build()));
  }

  @Test
  void volumesLiveInTheNamespaceOfTheConfiguration() {
    TestDriver.makeNamespace(CLUSTER);
    Volume volume =
        driver.create(
            driver.createRequest(name, 64 * MIB).putParameters("clusterID", "in-namespace"));
    assertThat(CLUSTER.rbd("ls", "rbd/ns1")).contains(TestDriver.image(volume));
    driver.delete(volume.getVolumeId());
    assertThat(CLUSTER.rbd("ls", "rbd/ns1")).doesNotContain(TestDriver.image(volume));
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(CLUSTER.rbd("trash", "ls", "rbd/ns1")).isBlank());
  }

  @Test
  void growsAndNeverShrinks() {
    Volume volume = driver.create(name, 64 * MIB);
    assertThat(driver.expand(volume.getVolumeId(), 128 * MIB)).isEqualTo(128 * MIB);
    assertThat(driver.expand(volume.getVolumeId(), 128 * MIB)).isEqualTo(128 * MIB);
    assertThat(driver.expand(volume.getVolumeId(), 64 * MIB)).isEqualTo(128 * MIB);
    assertThat(CLUSTER.rbd("info", "rbd/" + TestDriver.image(volume), "--format", "json"))
        .contains("\"size\":134217728");
    driver.delete(volume.getVolumeId());
    assertStatus(Code.NOT_FOUND, () -> driver.expand(volume.getVolumeId(), 256 * MIB));
  }

  @Test
  void capabilitiesAreConfirmedOrExplained() {
    Volume volume = driver.create(name, 64 * MIB);
    ValidateVolumeCapabilitiesRequest.Builder request =
        ValidateVolumeCapabilitiesRequest.newBuilder()
            .setVolumeId(volume.getVolumeId())
            .addVolumeCapabilities(TestDriver.singleWriter())
            .putAllSecrets(driver.secrets());
    var confirmed = driver.controller().validateVolumeCapabilities(request.build());
    assertThat(confirmed.getConfirmed().getVolumeCapabilitiesList())
        .containsExactly(TestDriver.singleWriter());

    VolumeCapability shared =
        VolumeCapability.newBuilder()
            .setMount(VolumeCapability.MountVolume.getDefaultInstance())
            .setAccessMode(
                VolumeCapability.AccessMode.newBuilder()
                    .setMode(VolumeCapability.AccessMode.Mode.MULTI_NODE_MULTI_WRITER))
            .build();
    var refused =
        driver
            .controller()
            .validateVolumeCapabilities(request.setVolumeCapabilities(0, shared).build());
    assertThat(refused.hasConfirmed()).isFalse();
    assertThat(refused.getMessage()).contains("MULTI_NODE_MULTI_WRITER");

    driver.delete(volume.getVolumeId());
    assertStatus(
        Code.NOT_FOUND, () -> driver.controller().validateVolumeCapabilities(request.build()));
  }

  @Test
  void eachMissingFieldIsNamed() {
    CreateVolumeRequest create = driver.createRequest(name, MIB).build();
    var controller = driver.controller();
    assertStatus(
        Code.INVALID_ARGUMENT,
        "name",
        () -> controller.createVolume(create.toBuilder().clearName().build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "volume_capabilities",
        () -> controller.createVolume(create.toBuilder().clearVolumeCapabilities().build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "clusterID",
        () -> controller.createVolume(create.toBuilder().removeParameters("clusterID").build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "pool",
        () -> controller.createVolume(create.toBuilder().removeParameters("pool").build()));
    assertStatus(
        Code.UNAUTHENTICATED,
        "userID",
        () -> controller.createVolume(create.toBuilder().clearSecrets().build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "volume_id",
        () -> controller.deleteVolume(DeleteVolumeRequest.getDefaultInstance()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "volume_id",
        () ->
            controller.controllerExpandVolume(ControllerExpandVolumeRequest.getDefaultInstance()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "capacity_range",
        () ->
            controller.controllerExpandVolume(
                ControllerExpandVolumeRequest.newBuilder().setVolumeId("x").build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "volume_id",
        () ->
            controller.validateVolumeCapabilities(
                ValidateVolumeCapabilitiesRequest.newBuilder()
                    .addVolumeCapabilities(TestDriver.singleWriter())
                    .build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "volume_capabilities",
        () ->
            controller.validateVolumeCapabilities(
                ValidateVolumeCapabilitiesRequest.newBuilder().setVolumeId("x").build()));
  }

  @Test
  void whatCannotBeIsRefusedClearly() {
    var controller = driver.controller();
    CreateVolumeRequest create = driver.createRequest(name, MIB).build();
    assertStatus(
        Code.INVALID_ARGUMENT,
        "no-such-cluster",
        () ->
            controller.createVolume(
                create.toBuilder().putParameters("clusterID", "no-such-cluster").build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "no-such-pool",
        () ->
            controller.createVolume(
                create.toBuilder().putParameters("pool", "no-such-pool").build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "name",
        () -> controller.createVolume(create.toBuilder().setName("n".repeat(129)).build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "object-map needs exclusive-lock",
        () ->
            controller.createVolume(
                create.toBuilder().putParameters("imageFeatures", "layering,object-map").build()));
    assertStatus(
        Code.UNAUTHENTICATED,
        "client.csi-nobody",
        () ->
            controller.createVolume(create.toBuilder().putSecrets("userID", "csi-nobody").build()));
    driver.delete("not-an-id");
    assertStatus(
        Code.NOT_FOUND,
        () ->
            controller.controllerExpandVolume(
                ControllerExpandVolumeRequest.newBuilder()
                    .setVolumeId("not-an-id")
                    .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(1))
                    .putAllSecrets(driver.secrets())
                    .build()));
  }

  @Test
  void aWrongKeyIsUnauthenticatedAndNowhereShown() {
    String wrong = "AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg==";
    assertStatus(
        Code.UNAUTHENTICATED,
        description -> assertThat(description).doesNotContain(wrong),
        () ->
            driver
                .controller()
                .createVolume(
                    driver
                        .createRequest(name, MIB)
                        .putAllSecrets(Map.of("userID", CLUSTER.rbdUser(), "userKey", wrong))
                        .build()));
    assertStatus(
        Code.UNAUTHENTICATED,
        () ->
            driver
                .controller()
                .createVolume(
                    driver
                        .createRequest(name, MIB)
                        .putSecrets("userKey", "no key at all")
                        .build()));
  }

  @Test
  void anImageThatLostItsNameIsDeletedUnlessItIsInUse() {
    Volume volume = driver.create(name, 64 * MIB);
    String image = TestDriver.image(volume);
    String header = "rbd_header." + POOL.info(image).path("id").asText();
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd");
        var open = new io.cephcsi.bindings.rbd.RbdPool(io).open(image)) {
      open.write(0, new byte[] {1});
      CLUSTER.rados("-p", "rbd", "rm", "rbd_id." + image);
      assertStatus(Code.FAILED_PRECONDITION, "in use", () -> driver.delete(volume.getVolumeId()));
    }
    assertThat(POOL.objects()).contains(header);
    driver.delete(volume.getVolumeId());
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(POOL.objects()).doesNotContain(header));
    assertThat(CLUSTER.rbd("ls", "rbd")).doesNotContain(image);
  }

  @Test
  void aVolumeInUseIsNotDeleted() {
    Volume volume = driver.create(name, 64 * MIB);
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd");
        var image = new io.cephcsi.bindings.rbd.RbdPool(io).open(TestDriver.image(volume))) {
      image.write(0, new byte[] {1});
      assertStatus(Code.FAILED_PRECONDITION, "in use", () -> driver.delete(volume.getVolumeId()));
    }
    assertThat(CLUSTER.rbd("ls", "rbd")).contains(TestDriver.image(volume));
    driver.delete(volume.getVolumeId());
  }
}
