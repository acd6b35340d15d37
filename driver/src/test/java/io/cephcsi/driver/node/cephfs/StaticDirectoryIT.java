package io.cephcsi.driver.node.cephfs;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.NodeStageVolumeRequest;
import io.cephcsi.proto.csi.v1.ValidateVolumeCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Directories that an administrator made and wrote into PersistentVolumes, on a node: used as a
 * user that may do nothing beside them, as {@code ceph fs authorize} makes it.
 */
class StaticDirectoryIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final int ALL = 0777;
  private static final long QUOTA = 32 << 20;
  private static final VolumeCapability WRITER = TestDriver.singleWriter();
  private static final VolumeCapability READER = TestDriver.onlyReader();

  private static TestDriver driver;

  private final String name = "by-hand-" + UUID.randomUUID();
  private final String root = "/" + name + "/data";
  private final Volume volume =
      Volume.newBuilder()
          .setVolumeId("any.name:" + name)
          .putVolumeContext("staticVolume", "true")
          .putVolumeContext("clusterID", TestDriver.CLUSTER_ID)
          .putVolumeContext("fsName", CLUSTER.fileSystem())
          .putVolumeContext("rootPath", root)
          .build();
  private final Volume shallow = with("backingSnapshotID", "first");
  private RadosCluster cluster;
  private CephFsMount mount;
  private Map<String, String> secrets;
  private NodeClient node;

  @BeforeAll
  static void start() {
    driver =
        TestDriver.cephFs(CLUSTER)
            .instance("static-" + UUID.randomUUID())
            .withCredentials()
            .start();
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  @BeforeEach
  void make() {
    cluster = CLUSTER.connect();
    mount = CephFsMount.mount(cluster, CLUSTER.fileSystem(), "/");
    mount.makeDirectories(root, ALL);
    mount.setQuotaBytes(root, QUOTA);
    CLUSTER.ceph("fs", "authorize", CLUSTER.fileSystem(), "client." + name, root, "rw");
    secrets =
        Map.of(
            "userID",
            name,
            "userKey",
            CLUSTER.ceph("auth", "print-key", "client." + name).strip(),
            "adminID",
            "nobody",
            "adminKey",
            "none");
    connect();
  }

  private void connect() {
    node = new NodeClient(driver.channel(), secrets, driver.folder());
  }

  @AfterEach
  void remove() {
    for (String pod : List.of("pod", "other")) {
      node.unpublish(volume, pod);
    }
    node.unstage(volume);
    assertThat(node.leftovers()).isEmpty();
    assertThat(node.files("node")).isEmpty();
    node.close();
    for (String snapshot : mount.names(root + "/.snap")) {
      mount.removeDirectory(root + "/.snap/" + snapshot);
    }
    for (String file : mount.names(root)) {
      mount.removeFile(root + "/" + file);
    }
    mount.removeDirectory(root);
    mount.removeDirectory("/" + name);
    mount.close();
    cluster.close();
    CLUSTER.ceph("auth", "rm", "client." + name);
  }

  private void restart() {
    driver = driver.restarted();
    connect();
  }

  private Volume without(String key) {
    return volume.toBuilder().removeVolumeContext(key).build();
  }

  private Volume with(String key, String value) {
    return volume.toBuilder().putVolumeContext(key, value).build();
  }

  @Test
  void itLivesOnTheNodeLikeAnyOther() throws IOException {
    node.stage(volume, WRITER);
    node.stage(volume, WRITER);
    Path target = node.publish(volume, WRITER, "pod");
    node.publish(volume, WRITER, "pod");
    Files.writeString(target.resolve("file"), "kept");
    restart();
    node.stage(volume, WRITER);
    node.publish(volume, WRITER, "pod");
    assertThat(node.stats(volume, "pod").getUsage(0).getTotal()).isEqualTo(QUOTA);
    assertThat(node.expand(volume, "pod").getCapacityBytes()).isEqualTo(QUOTA);
    node.unpublish(volume, "pod");
    node.unpublish(volume, "pod");
    restart();
    node.unstage(volume);
    node.unstage(volume);
    assertThat(node.leftovers()).isEmpty();
    node.stage(without("fsName"), WRITER); // there is only one
    assertThat(node.staging(volume).resolve("file")).hasContent("kept");
    Volume above = with("rootPath", "/" + name);
    assertStatus(Code.UNAVAILABLE, "NodeUnstageVolume", () -> node.stage(above, WRITER));
    node.unstage(volume);
    assertStatus(Code.PERMISSION_DENIED, () -> node.stage(above, WRITER));
  }

  @Test
  void aSnapshotOfItIsShownAndNothingElse() throws IOException {
    node.stage(volume, WRITER);
    Files.writeString(node.staging(volume).resolve("file"), "old");
    node.unstage(volume);
    mount.makeDirectory(root + "/.snap/the-first-one", ALL);
    mount.makeDirectory(root + "/.snap/the-second-one", ALL);
    node.stage(volume, WRITER);
    Files.writeString(node.staging(volume).resolve("file"), "new");
    node.unstage(volume);

    assertStatus(Code.INVALID_ARGUMENT, "only read", () -> node.stage(shallow, WRITER));
    assertStatus(
        Code.NOT_FOUND, "third", () -> node.stage(with("backingSnapshotID", "third"), READER));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "several",
        () -> node.stage(with("backingSnapshotID", "the-"), READER));
    node.stage(shallow, READER);
    restart();
    node.stage(shallow, READER);
    Mount staged = MountTable.read().at(node.staging(shallow)).orElseThrow();
    assertThat(staged.root()).isEqualTo("/.snap/the-first-one");
    assertThat(staged.isReadOnly()).isTrue();
    assertThat(MountTable.read().ofDevice(staged.device())).hasSize(1);
    Path target = node.publish(shallow, READER, "pod");
    assertThat(target.resolve("file")).hasContent("old");
    assertThatThrownBy(() -> Files.writeString(target.resolve("other"), "no"))
        .isInstanceOf(FileSystemException.class)
        .hasMessageContaining("Read-only");
    assertThat(node.stats(shallow, "pod").getUsage(0).getAvailable()).isZero();
    node.unpublish(shallow, "pod");
    node.unstage(shallow);

    node.stage(volume, READER); // the directory itself, where the snapshot is asked for
    assertStatus(Code.FAILED_PRECONDITION, () -> node.publish(shallow, READER, "other"));
    assertStatus(Code.UNAVAILABLE, "NodeUnstageVolume", () -> node.stage(shallow, READER));
  }

  @Test
  void whatIsMissingIsNamed() {
    for (String key : List.of("clusterID", "rootPath")) {
      assertStatus(Code.INVALID_ARGUMENT, key, () -> node.stage(without(key), WRITER));
    }
    assertStatus(
        Code.INVALID_ARGUMENT, "rootPath", () -> node.stage(with("rootPath", "data"), WRITER));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "rootPath",
        () -> node.stage(with("rootPath", root + "/.."), WRITER));
    assertStatus(
        Code.NOT_FOUND, "none", () -> node.stage(with("rootPath", root + "/none"), WRITER));
    assertStatus(Code.NOT_FOUND, "nowhere", () -> node.stage(with("fsName", "nowhere"), WRITER));
    assertStatus(Code.NOT_FOUND, () -> node.stage(without("staticVolume"), WRITER));
    NodeStageVolumeRequest.Builder noKey = node.stageRequest(volume, WRITER).clearSecrets();
    assertStatus(
        Code.UNAUTHENTICATED,
        "userKey",
        () -> node.stub().nodeStageVolume(noKey.putSecrets("userID", name).build()));
    assertThat(node.leftovers()).isEmpty();
  }

  @Test
  void theControllerKnowsItByItsContext() {
    ValidateVolumeCapabilitiesRequest validate =
        ValidateVolumeCapabilitiesRequest.newBuilder()
            .setVolumeId(volume.getVolumeId())
            .putAllVolumeContext(volume.getVolumeContextMap())
            .addVolumeCapabilities(WRITER)
            .putAllSecrets(secrets)
            .build();
    assertThat(driver.controller().validateVolumeCapabilities(validate).hasConfirmed()).isTrue();
    assertStatus(
        Code.NOT_FOUND,
        () ->
            driver
                .controller()
                .validateVolumeCapabilities(
                    validate.toBuilder().putVolumeContext("rootPath", root + "/no").build()));
  }
}
