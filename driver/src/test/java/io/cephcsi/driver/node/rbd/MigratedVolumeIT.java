package io.cephcsi.driver.node.rbd;

import static io.cephcsi.driver.testing.NodeClient.mounted;
import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceResponse;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Volumes that Kubernetes' in-tree plugin made, with the identifiers that Kubernetes gives them.
 */
class MigratedVolumeIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final String MONITORS = "7982de6a23b77bce50b1ba9f2e879cce";
  private static final VolumeCapability WRITER = mounted("ext4", Mode.SINGLE_NODE_WRITER);

  private static TestDriver driver;

  private final UUID uuid = UUID.randomUUID();
  private final String image = "kubernetes-dynamic-pvc-" + uuid;
  private final Volume volume = volume(CLUSTER.pool());
  private NodeClient node;

  private Volume volume(String pool) {
    return Volume.newBuilder()
        .setVolumeId(handle(MONITORS, pool))
        .putVolumeContext("staticVolume", "true")
        .putVolumeContext("migration", "true")
        .putVolumeContext("clusterID", MONITORS)
        .putVolumeContext("pool", pool)
        .putVolumeContext("imageName", image)
        .putVolumeContext("imageFeatures", "layering")
        .build();
  }

  private String handle(String monitors) {
    return handle(monitors, CLUSTER.pool());
  }

  private String handle(String monitors, String pool) {
    String hex = HexFormat.of().formatHex(pool.getBytes(UTF_8));
    return "mig_mons-" + monitors + "_image-" + uuid + "_" + hex;
  }

  @BeforeAll
  static void start() throws IOException {
    driver = TestDriver.rbd(CLUSTER).instance("mig-" + UUID.randomUUID()).start();
    Files.writeString(
        driver.folder().resolve("config.json"),
        "[{\"clusterID\": \"" + MONITORS + "\", \"monitors\": [\"" + CLUSTER.monitors() + "\"]}]");
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  @BeforeEach
  void make() {
    node = driver.node();
    CLUSTER.rbd("create", "--size", "64M", spec());
  }

  @AfterEach
  void remove() {
    node.remove(volume);
    assertThat(node.leftovers()).isEmpty();
    node.close();
  }

  private String spec() {
    return CLUSTER.pool() + "/" + image;
  }

  /** Secrets as the in-tree plugin had them. */
  private static Map<String, String> secrets() {
    return Map.of("adminId", CLUSTER.rbdUser(), "key", CLUSTER.key(CLUSTER.rbdUser()));
  }

  private static void delete(String handle) {
    assertThat(
            driver
                .controller()
                .deleteVolume(
                    DeleteVolumeRequest.newBuilder()
                        .setVolumeId(handle)
                        .putAllSecrets(secrets())
                        .build()))
        .isNotNull();
  }

  private ControllerReclaimSpaceResponse reclaim() {
    return reclaim(volume);
  }

  private static ControllerReclaimSpaceResponse reclaim(Volume volume) {
    return driver
        .reclaim()
        .controllerReclaimSpace(
            ControllerReclaimSpaceRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .putAllSecrets(secrets())
                .build());
  }

  @Test
  void itIsUsedReclaimedGrownAndDeleted() throws IOException {
    node.stage(volume, WRITER);
    Path target = node.publish(volume, WRITER, "pod");
    Files.write(target.resolve("data"), new byte[(int) (16 * MIB)]);
    Commands.run(List.of("sync", "-f", target.toString()));
    Files.delete(target.resolve("data"));
    assertThat(node.reclaim(node.reclaimRequest(volume).build()).hasPostUsage()).isTrue();
    assertStatus(Code.FAILED_PRECONDITION, "in use", () -> delete(volume.getVolumeId()));
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertThat(
            driver
                .controller()
                .controllerExpandVolume(
                    ControllerExpandVolumeRequest.newBuilder()
                        .setVolumeId(volume.getVolumeId())
                        .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(96 * MIB))
                        .putAllSecrets(secrets())
                        .build())
                .getCapacityBytes())
        .isEqualTo(96 * MIB);
    node.stage(volume, WRITER); // to grow ext4 while it is mounted takes more rights
    node.publish(volume, WRITER, "pod");
    assertThat(node.stats(volume, "pod").getUsage(0).getTotal()).isGreaterThan(80 * MIB);
    Files.write(node.target(volume, "pod").resolve("zeroes"), new byte[(int) (16 * MIB)]);
    node.unpublish(volume, "pod");
    node.unstage(volume);
    ControllerReclaimSpaceResponse freed = reclaim();
    assertThat(freed.getPreUsage().getUsageBytes())
        .isGreaterThan(freed.getPostUsage().getUsageBytes());
    delete(volume.getVolumeId());
    assertThat(CLUSTER.rbd("ls", CLUSTER.pool())).doesNotContain(image);
    delete(volume.getVolumeId());
    Awaitility.await()
        .untilAsserted(
            () -> assertThat(CLUSTER.rbd("trash", "ls", CLUSTER.pool())).doesNotContain(image));
    assertStatus(Code.NOT_FOUND, image, this::reclaim);
  }

  /** A handle has 85 bytes, and two for each byte of the pool's name. */
  @Test
  void thePoolMayHaveALongName() throws IOException {
    String pool = "p".repeat(40);
    Volume there = volume(pool);
    assertThat(there.getVolumeId()).hasSizeGreaterThan(128);
    CLUSTER.ceph("osd", "pool", "create", pool, "1");
    try {
      CLUSTER.rbd("pool", "init", pool);
      CLUSTER.rbd("create", "--size", "64M", pool + "/" + image);
      node.stage(there, WRITER);
      Path target = node.publish(there, WRITER, "pod");
      Files.writeString(target.resolve("file"), "written");
      assertThat(node.stats(there, "pod").getVolumeCondition().getAbnormal()).isFalse();
      node.unpublish(there, "pod");
      node.unstage(there);
      assertThat(node.files("staging")).isEmpty();
      assertThat(reclaim(there).getPostUsage().getUsageBytes()).isPositive();
      delete(there.getVolumeId());
      assertThat(CLUSTER.rbd("ls", pool)).doesNotContain(image);
    } finally {
      node.remove(there);
      CLUSTER.ceph("osd", "pool", "rm", pool, pool, "--yes-i-really-really-mean-it");
      delete(volume.getVolumeId());
    }
  }

  @Test
  void oneWithSnapshotsOrOfAnUnknownClusterIsNotDeleted() {
    CLUSTER.rbd("snap", "create", "--no-progress", spec() + "@mine");
    assertStatus(Code.FAILED_PRECONDITION, "snapshots", () -> delete(volume.getVolumeId()));
    assertStatus(Code.INVALID_ARGUMENT, "clusterID", () -> delete(handle("0".repeat(32))));
    delete(handle("another")); // no such identifier
    assertThat(CLUSTER.rbd("ls", CLUSTER.pool())).contains(image);
    CLUSTER.rbd("snap", "rm", "--no-progress", spec() + "@mine");
    delete(volume.getVolumeId());
  }

  @Test
  void anImageOfFormat1IsNotTakenForMissing() {
    CLUSTER.rbd("rm", "--no-progress", spec());
    String header = image + ".rbd"; // the rbd program makes no such image any more
    CLUSTER.rados("-p", CLUSTER.pool(), "put", header, "/proc/version");
    assertStatus(Code.FAILED_PRECONDITION, "format 1", () -> delete(handle(MONITORS)));
    CLUSTER.rados("-p", CLUSTER.pool(), "rm", header);
    delete(handle(MONITORS));
  }

  /** As a process leaves it that died while it made or removed the image. */
  @Test
  void ofAnImageWithoutAHeaderTheNameGoes() {
    String info = CLUSTER.rbd("info", spec());
    String id = info.replaceAll("(?s).*block_name_prefix: rbd_data\\.(\\S+).*", "$1");
    CLUSTER.rados("-p", CLUSTER.pool(), "rm", "rbd_header." + id);
    delete(volume.getVolumeId());
    assertThat(CLUSTER.rbd("ls", CLUSTER.pool())).doesNotContain(image);
    assertThat(CLUSTER.rados("-p", CLUSTER.pool(), "ls")).doesNotContain(image);
    delete(volume.getVolumeId());
  }
}
