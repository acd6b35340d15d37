package io.cephcsi.driver.node.rbd;

import static io.cephcsi.driver.testing.NodeClient.block;
import static io.cephcsi.driver.testing.NodeClient.mounted;
import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceResponse;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsResponse;
import io.cephcsi.proto.csi.v1.ValidateVolumeCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Images that an administrator made and wrote into PersistentVolumes, on a node. */
class StaticImageIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final VolumeCapability WRITER = mounted("ext4", Mode.SINGLE_NODE_WRITER);
  private static final VolumeCapability ONLY_READER = mounted("ext4", Mode.SINGLE_NODE_READER_ONLY);
  private static final VolumeCapability RAW = block(Mode.SINGLE_NODE_WRITER);

  private static TestDriver driver;

  private final String name = "by-hand-" + UUID.randomUUID();
  private final Volume volume =
      Volume.newBuilder()
          .setVolumeId(name)
          .putVolumeContext("staticVolume", "true")
          .putVolumeContext("clusterID", TestDriver.CLUSTER_ID)
          .putVolumeContext("pool", CLUSTER.pool())
          .putVolumeContext("imageFeatures", "layering")
          .build();
  private NodeClient node;

  @BeforeAll
  static void start() {
    driver =
        TestDriver.rbd(CLUSTER).instance("static-" + UUID.randomUUID()).withCredentials().start();
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  @BeforeEach
  void make() {
    node = driver.node();
    CLUSTER.rbd("create", "--size", "64M", CLUSTER.pool() + "/" + name);
  }

  @AfterEach
  void remove() {
    node.remove(volume);
    assertThat(node.leftovers()).isEmpty();
    assertThat(node.files("staging")).isEmpty();
    assertThat(node.files("node")).isEmpty();
    node.close();
    CLUSTER.rbd("rm", "--no-progress", CLUSTER.pool() + "/" + name);
  }

  /** A kubelet does not notice, and goes on with the same paths. */
  private void restart() {
    driver = driver.restarted();
    node = driver.node();
  }

  @Test
  void oneWhoseDecryptedDeviceCannotBeNamedIsRefused() {
    Volume other =
        volume.toBuilder().setVolumeId(name + "~").putVolumeContext("encrypted", "true").build();
    assertStatus(Code.INVALID_ARGUMENT, "named after", () -> node.stage(other, WRITER));
    assertThat(node.files("staging")).isEmpty();
  }

  @Test
  void itLivesOnTheNodeLikeAnyOther() throws IOException {
    node.stage(volume, WRITER);
    node.stage(volume, WRITER);
    assertThat(node.staging(volume).resolve("image-meta.json"))
        .content()
        .contains(name, TestDriver.CLUSTER_ID)
        .doesNotContain(driver.secrets().get("userKey"));
    Path target = node.publish(volume, WRITER, "pod");
    node.publish(volume, WRITER, "pod");
    Files.write(target.resolve("data"), new byte[(int) (16 * MIB)]);
    Files.writeString(target.resolve("file"), "kept");
    Commands.run(List.of("sync", "-f", target.toString()));
    restart();
    node.stage(volume, WRITER);
    node.publish(volume, WRITER, "pod");
    NodeGetVolumeStatsResponse stats = node.stats(volume, "pod");
    assertThat(stats.getVolumeCondition().getAbnormal()).isFalse();
    assertThat(stats.getUsage(0).getUsed()).isGreaterThan(16 * MIB);
    Files.delete(target.resolve("data"));
    NodeReclaimSpaceResponse freed = node.reclaim(node.reclaimRequest(volume).build());
    assertThat(freed.getPreUsage().getUsageBytes() - freed.getPostUsage().getUsageBytes())
        .as("the allocated bytes of the image")
        .isGreaterThanOrEqualTo(4 * MIB); // whole objects: metadata lie between them
    node.unpublish(volume, "pod");
    node.unpublish(volume, "pod");
    restart();
    node.unstage(volume);
    node.unstage(volume);
    assertThat(node.leftovers()).isEmpty();
    node.stage(volume, WRITER);
    target = node.publish(volume, WRITER, "pod");
    assertThat(target.resolve("file")).hasContent("kept");
  }

  @Test
  void asABlockDeviceItGrowsAndTellsItsUsage() throws IOException {
    node.stage(volume, RAW);
    Path target = node.publish(volume, RAW, "pod");
    Commands.run(
        List.of("dd", "if=/dev/urandom", "of=" + target, "bs=1M", "count=8", "oflag=direct"));
    NodeGetVolumeStatsResponse stats = node.stats(volume, "pod");
    assertThat(stats.getUsage(0).getTotal()).isEqualTo(64 * MIB);
    assertThat(stats.getUsage(0).getUsed()).isEqualTo(8 * MIB);
    CLUSTER.rbd("resize", "--no-progress", "--size", "96M", CLUSTER.pool() + "/" + name);
    restart();
    assertThat(node.expand(volume, "pod").getCapacityBytes()).isEqualTo(96 * MIB);
    assertThat(BlockDevice.require(target).size()).isEqualTo(96 * MIB);
  }

  /** The volume that an image was made for, and the image by its name. */
  @Test
  void ofTwoVolumesOfOneImageNoneTakesTheDeviceFromTheOther() throws IOException {
    Volume made = driver.create("pvc-" + UUID.randomUUID(), 64 * MIB);
    Volume byName = volume.toBuilder().setVolumeId(TestDriver.image(made)).build();
    CompletableFuture<Void> staging;
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage open = new RbdPool(io).open(TestDriver.image(made))) {
      assertThat(open.size()).isEqualTo(64 * MIB);
      staging = CompletableFuture.runAsync(() -> node.stage(made, WRITER)); // waits for its closing
      Path file = node.staging(made).resolve("image-meta.json");
      Awaitility.await().until(() -> Files.exists(file));
      assertStatus(Code.ABORTED, "image", () -> node.stage(byName, WRITER));
    }
    staging.join();
    VolumeCapability other = mounted("xfs", Mode.SINGLE_NODE_WRITER);
    assertStatus(
        Code.FAILED_PRECONDITION,
        "staged as volume " + made.getVolumeId(),
        () -> node.stage(byName, RAW)); // below the file system
    Path place = node.staging(made).resolve(made.getVolumeId());
    Mount staged = MountTable.read().at(place).orElseThrow();
    Mounts.unmountAll(place); // as in a call that is about to mount it
    assertStatus(Code.FAILED_PRECONDITION, "holds ext4", () -> node.stage(byName, other));
    assertThat(node.files("staging")).containsExactly(place.resolveSibling("image-meta.json"));
    node.stage(made, WRITER);
    assertThat(MountTable.read().at(place).orElseThrow().source()).isEqualTo(staged.source());
    node.unstage(made);
    driver.delete(made.getVolumeId());
  }

  @Test
  void twoVolumesOfOneImageThatAreStagedAreUnstagedInAnyOrder() throws IOException {
    Volume made = driver.create("pvc-" + UUID.randomUUID(), 64 * MIB);
    Volume byName = volume.toBuilder().setVolumeId(TestDriver.image(made)).build();
    for (boolean first : new boolean[] {true, false}) {
      node.stage(made, WRITER);
      Path place = node.staging(made).resolve(made.getVolumeId());
      String device = MountTable.read().at(place).orElseThrow().source();
      Mounts.unmountAll(place);
      node.stage(byName, WRITER);
      Mounts.mount("ext4", device, place, List.of()); // as earlier versions did
      node.stage(made, WRITER);
      Path target = node.publish(first ? byName : made, WRITER, "pod");
      Files.writeString(target.resolve("file"), "kept" + first);
      node.unstage(first ? made : byName);
      assertThat(target.resolve("file")).hasContent("kept" + first);
      node.remove(first ? byName : made);
      assertThat(node.leftovers()).isEmpty();
    }
    node.stage(made, ONLY_READER);
    assertStatus(Code.FAILED_PRECONDITION, "staged as volume", () -> node.stage(byName, WRITER));
    node.stage(byName, ONLY_READER);
    assertThat(node.publish(byName, ONLY_READER, "pod").resolve("file")).hasContent("keptfalse");
    node.unstage(made);
    assertThat(node.target(byName, "pod").resolve("file")).hasContent("keptfalse");
    node.remove(byName);
    assertThat(node.leftovers()).isEmpty();
    driver.delete(made.getVolumeId());
  }

  /** A call that died left it attached and mounted nowhere. */
  @Test
  void anImageOfTheSameNameOnAnotherClusterIsNotTakenForIt() throws IOException {
    assumeTrue(NodeClient.mounter().equals("fuse"));
    node.stage(volume, RAW);
    Mounts.unmountAll(node.staging(volume).resolve(name));
    Path spec =
        node.files("node").stream().filter(file -> file.endsWith("spec")).findFirst().orElseThrow();
    String ours = Files.readString(spec);
    String fsid = CLUSTER.ceph("fsid").strip();
    assertThat(ours).contains(fsid);
    Files.writeString(spec, ours.replace(fsid, UUID.randomUUID().toString()));
    assertStatus(Code.UNAVAILABLE, "another cluster", () -> node.stage(volume, RAW));
    Files.writeString(spec, ours);
    node.stage(volume, RAW);
  }

  private Volume without(String key) {
    return volume.toBuilder().removeVolumeContext(key).build();
  }

  private Volume with(String key, String value) {
    return volume.toBuilder().putVolumeContext(key, value).build();
  }

  @Test
  void whatIsMissingIsNamed() {
    for (String key : List.of("clusterID", "pool")) {
      assertStatus(Code.INVALID_ARGUMENT, key, () -> node.stage(without(key), WRITER));
    }
    assertStatus(
        Code.INVALID_ARGUMENT,
        "clusterID",
        () -> node.stage(with("clusterID", "somewhere"), WRITER));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "staticVolume",
        () -> node.stage(with("staticVolume", "perhaps"), WRITER));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "encryptionPassphrase",
        () -> node.stage(with("encrypted", "1"), WRITER));
    assertStatus(
        Code.INVALID_ARGUMENT, "encrypted", () -> node.stage(with("encrypted", "yes"), WRITER));
    assertStatus(Code.NOT_FOUND, "nowhere", () -> node.stage(with("pool", "nowhere"), WRITER));
    assertStatus(Code.NOT_FOUND, name, () -> node.stage(without("staticVolume"), WRITER));
    Volume missing = volume.toBuilder().setVolumeId(name + "-not").build();
    assertStatus(Code.NOT_FOUND, "-not is gone", () -> node.stage(missing, WRITER));
    VolumeCapability toRead = mounted("ext4", Mode.SINGLE_NODE_READER_ONLY);
    assertStatus(Code.NOT_FOUND, "-not is gone", () -> node.stage(missing, toRead));
    assertStatus(Code.FAILED_PRECONDITION, "staged", () -> node.publish(missing, WRITER, "pod"));
    for (String unsafe : List.of("..", "image-meta.json", "a/b")) {
      Volume odd = volume.toBuilder().setVolumeId(unsafe).build();
      assertStatus(
          Code.INVALID_ARGUMENT,
          "volume_id",
          () ->
              node.stub()
                  .nodeStageVolume(
                      node.stageRequest(odd, WRITER)
                          .setStagingTargetPath(node.folder().resolve("staging/odd").toString())
                          .build()));
    }
  }

  @Test
  void theControllerKnowsItByItsContext() {
    ValidateVolumeCapabilitiesRequest validate =
        ValidateVolumeCapabilitiesRequest.newBuilder()
            .setVolumeId(name)
            .putAllVolumeContext(volume.getVolumeContextMap())
            .addVolumeCapabilities(WRITER)
            .putAllSecrets(driver.secrets())
            .build();
    assertThat(driver.controller().validateVolumeCapabilities(validate).hasConfirmed()).isTrue();
    assertStatus(
        Code.NOT_FOUND,
        () ->
            driver
                .controller()
                .validateVolumeCapabilities(validate.toBuilder().setVolumeId("not").build()));
    ControllerPublishVolumeRequest publish =
        ControllerPublishVolumeRequest.newBuilder()
            .setVolumeId(name)
            .setNodeId(TestDriver.NODE_ID)
            .putAllVolumeContext(volume.getVolumeContextMap())
            .setVolumeCapability(WRITER)
            .build();
    assertThat(driver.controller().controllerPublishVolume(publish)).isNotNull();
    assertStatus(
        Code.NOT_FOUND,
        () ->
            driver
                .controller()
                .controllerPublishVolume(publish.toBuilder().setVolumeId("not").build()));
    assertThat(
            driver
                .controller()
                .controllerUnpublishVolume(
                    ControllerUnpublishVolumeRequest.newBuilder()
                        .setVolumeId(name)
                        .setNodeId(TestDriver.NODE_ID)
                        .build()))
        .isNotNull();
  }
}
