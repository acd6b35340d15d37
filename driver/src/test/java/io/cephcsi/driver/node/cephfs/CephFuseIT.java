package io.cephcsi.driver.node.cephfs;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.NodeStageVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** What ceph-fuse does on the node beside showing a volume. */
class CephFuseIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final long SIZE = 64 << 20;
  private static final VolumeCapability WRITER = TestDriver.singleWriter();
  private static final Path LOGS = Path.of("/var/log/ceph");
  private static final Path SOCKETS = Path.of("/run/ceph");

  private static TestDriver driver;

  private NodeClient node;
  private String name;

  @BeforeAll
  static void start() {
    driver = TestDriver.cephFs(CLUSTER).instance("ceph-fuse").withCredentials().start();
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  @BeforeEach
  void connect(TestInfo info) {
    node = driver.node();
    name = info.getTestMethod().orElseThrow().getName() + "-" + UUID.randomUUID();
  }

  @AfterEach
  void nothingIsLeft() {
    assertThat(node.leftovers()).isEmpty();
    assertThat(node.files("node")).isEmpty();
    node.close();
  }

  private NodeStageVolumeRequest.Builder request(Volume volume) {
    return node.stageRequest(volume, WRITER).putVolumeContext("mounter", "fuse");
  }

  private void stage(NodeStageVolumeRequest.Builder request) {
    assertThat(node.stub().nodeStageVolume(request.build())).isNotNull();
  }

  /** Both folders are the user's ceph, on hosts that have daemons of Ceph. */
  @Test
  void nothingIsWrittenWhereTheUserCephCouldPutALink() throws IOException {
    String user = "client." + name;
    CLUSTER.ceph(
        "auth",
        "add",
        user,
        "mon",
        "allow r",
        "mds",
        "allow rw",
        "osd",
        "allow rw",
        "mgr",
        "allow rw");
    Files.createDirectories(LOGS);
    Path link = LOGS.resolve("ceph-" + user + ".log");
    Path target = node.folder().resolve("written-by-root");
    Files.createSymbolicLink(link, target);
    Volume volume = driver.create(name, SIZE);
    try {
      stage(
          request(volume)
              .putSecrets("userID", name)
              .putSecrets("userKey", CLUSTER.ceph("auth", "print-key", user).strip()));
      Files.writeString(node.staging(volume).resolve("file"), "x");
      assertThat(socketsOf(user)).isEmpty();
      node.unstage(volume);
    } finally {
      Files.delete(link);
    }
    assertThat(target).doesNotExist();
    CLUSTER.ceph("auth", "rm", user);
    driver.delete(volume.getVolumeId());
  }

  private static List<Path> socketsOf(String user) throws IOException {
    if (!Files.isDirectory(SOCKETS)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(SOCKETS)) {
      return files.filter(file -> file.toString().contains(user)).toList();
    }
  }

  /** It calls mount(8) through a shell, with the path as it is. */
  @Test
  void aPathThatAShellWouldReadIsRefused() {
    Volume volume = driver.create(name, SIZE);
    Path marker = node.folder().resolve("marker");
    for (String part : List.of("x;touch " + marker, "$(touch " + marker + ")", "a b", "(x)", "é")) {
      Path staging = node.folder().resolve(part.replace("/", "\\057"));
      assertStatus(
          Status.Code.INVALID_ARGUMENT,
          "shell",
          () -> stage(request(volume).setStagingTargetPath(staging.toString())));
      assertThat(MountTable.read().at(staging)).isEmpty();
      staging.toFile().delete();
    }
    Path nested = Path.of(node.folder() + "/x;touch " + marker);
    assertStatus(
        Status.Code.INVALID_ARGUMENT,
        "shell",
        () -> stage(request(volume).setStagingTargetPath(nested.toString())));
    assertThat(Files.exists(marker, LinkOption.NOFOLLOW_LINKS)).isFalse();
    remove(nested);
    driver.delete(volume.getVolumeId());
  }

  /** The folders that were made for a staging path, as far as they are empty. */
  private void remove(Path path) {
    for (Path up = path; up != null && !up.equals(node.folder()); up = up.getParent()) {
      up.toFile().delete();
    }
  }

  @Test
  void eachOptionThatIsAllowedIsTaken() {
    Volume volume = driver.create(name, SIZE);
    String flags =
        "noatime atime nodiratime relatime norelatime strictatime lazytime nodev nosuid noexec sync"
            + " dirsync silent nofail _netdev noiversion";
    for (String flag : flags.split(" ", -1)) {
      NodeStageVolumeRequest.Builder request = request(volume);
      request.getVolumeCapabilityBuilder().getMountBuilder().addMountFlags(flag);
      stage(request);
      node.unstage(volume);
    }
    String options =
        "allow_other default_permissions debug max_read=131072 max_write=131072 max_readahead=131072"
            + " max_background=12 congestion_threshold=9 async_read sync_read big_writes"
            + " atomic_o_trunc splice_read no_splice_write no_splice_move";
    for (String option : options.split(" ", -1)) {
      stage(request(volume).putVolumeContext("fuseMountOptions", option));
      node.unstage(volume);
    }
    for (String option : List.of("kernel_cache", "entry_timeout=1", "use_ino")) {
      assertStatus(
          Status.Code.INVALID_ARGUMENT,
          option.split("=", 2)[0],
          () -> stage(request(volume).putVolumeContext("fuseMountOptions", option)));
    }
    driver.delete(volume.getVolumeId());
  }
}
