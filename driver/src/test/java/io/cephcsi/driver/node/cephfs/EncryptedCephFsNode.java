package io.cephcsi.driver.node.cephfs;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static io.cephcsi.driver.testing.Statuses.untilNotAborted;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.fscrypt.EncryptedFolder;
import io.cephcsi.driver.node.fscrypt.FscryptProgram;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.NodePublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeStageVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Encrypted files of CephFS on a node. Run where the kernel has it: by EncryptedFilesInMachineIT.
 */
public class EncryptedCephFsNode {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final SubvolumeState STATE = new SubvolumeState(CLUSTER);
  private static final long SIZE = 64 << 20;
  private static final VolumeCapability WRITER = TestDriver.singleWriter();
  private static final VolumeCapability READER = TestDriver.onlyReader();
  private static final String NAME = "a telling name";
  private static final String LONG_NAME = "n".repeat(250);
  private static final String TEXT = "a telling content";

  @SuppressWarnings("NullAway.Init")
  private static TestDriver driver;

  @SuppressWarnings("NullAway.Init")
  private NodeClient node;

  @BeforeAll
  static void start() {
    FscryptProgram.configure();
    driver = driver();
  }

  private static TestDriver driver() {
    return TestDriver.cephFs(CLUSTER)
        .instance("node-" + UUID.randomUUID())
        .withCredentials()
        .encryptedFiles(Path.of("/nonexistent"), "default")
        .start();
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  @BeforeEach
  void connect() {
    node = driver.node();
  }

  @AfterEach
  void nothingIsLeft() {
    assertThat(node.leftovers()).isEmpty();
    assertThat(node.files("node")).isEmpty();
    node.close();
  }

  private static Volume create() {
    return driver.create("encrypted-" + UUID.randomUUID(), SIZE);
  }

  private static String root(Volume volume) {
    return volume.getVolumeContextOrThrow("subvolumePath");
  }

  private static List<String> outside(String path) {
    return STATE.mounted(mount -> mount.names(path));
  }

  private static List<String> names(Path folder) throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.map(path -> String.valueOf(path.getFileName())).sorted().toList();
    }
  }

  /** Ceph 16, or a kernel before 6.6: what it would take without an error would be lost. */
  @Test
  public void whatCannotKeepThemIsRefusedAndNothingIsChanged() {
    Volume volume = create();
    for (int i = 0; i < 2; i++) {
      assertStatus(
          Code.FAILED_PRECONDITION,
          said -> assertThat(said).containsPattern("Linux from 6\\.6|MDSs must be of Ceph 17"),
          () -> node.stage(volume, WRITER));
    }
    assertThat(MountTable.read().at(node.staging(volume))).isEmpty();
    assertThat(outside(root(volume))).isEmpty();
    driver.delete(volume.getVolumeId());
  }

  @Test
  public void whatAWorkloadWritesIsEncryptedAndThereAgain() throws IOException {
    Volume volume = create();
    for (int i = 0; i < 2; i++) {
      node.stage(volume, WRITER);
    }
    Path target = node.publish(volume, WRITER, "pod");
    assertThat(names(target)).as("nothing of the volume's own is seen").isEmpty();
    Mount shown = MountTable.read().at(target).orElseThrow();
    assertThat(shown.root()).isEqualTo("/" + EncryptedFolder.NAME);
    Files.writeString(target.resolve(NAME), TEXT);
    Files.createDirectory(target.resolve(LONG_NAME));
    Files.writeString(target.resolve(LONG_NAME).resolve("inner"), TEXT.repeat(1000));
    Files.createSymbolicLink(target.resolve("link"), Path.of(NAME));
    assertThat(node.publish(volume, WRITER, "pod")).isEqualTo(target);
    node.publish(volume, WRITER, "another");
    assertThat(node.target(volume, "another").resolve(NAME)).hasContent(TEXT);
    assertThat(node.stats(volume, "pod").getUsage(0).getTotal()).isEqualTo(SIZE);
    assertThat(node.stats(volume, "pod").getVolumeCondition().getAbnormal()).isFalse();
    long grown = driver.expand(volume.getVolumeId(), SIZE + 1_000_000);
    assertThat(grown).isBetween(SIZE + 1_000_000, SIZE + 1_010_000);
    assertThat(node.expand(volume, "pod").getCapacityBytes()).as("to the byte").isEqualTo(grown);
    node.unpublish(volume, "another");
    node.unpublish(volume, "pod");
    for (int i = 0; i < 2; i++) {
      node.unstage(volume);
    }
    nothingIsTold(volume);
    refusedByAnotherPassphrase(volume);
    unlockedByTheProgram(volume);
    String snapshot =
        driver.snapshot("s-" + UUID.randomUUID(), volume.getVolumeId()).getSnapshotId();
    node.stage(volume, WRITER);
    theSameDirectoryNeedsItsPassphraseAgain(volume);
    target = node.publish(volume, WRITER, "pod");
    assertThat(names(target)).containsExactly(NAME, "link", LONG_NAME);
    assertThat(target.resolve("link")).hasContent(TEXT);
    assertThat(target.resolve(LONG_NAME).resolve("inner")).hasContent(TEXT.repeat(1000));
    Files.writeString(target.resolve(NAME), "changed");
    node.unpublish(volume, "pod");
    node.unstage(volume);
    shown(snapshot);
    driver.deleteSnapshot(snapshot);
    driver.delete(volume.getVolumeId());
  }

  /** By libcephfs, without a key. */
  private void nothingIsTold(Volume volume) throws IOException {
    assertThat(outside(root(volume))).containsExactlyInAnyOrder(EncryptedFolder.NAME, ".fscrypt");
    String folder = root(volume) + "/" + EncryptedFolder.NAME;
    List<String> names = outside(folder);
    assertThat(names).hasSize(3).noneMatch(name -> name.contains("tell") || name.contains("nnn"));
    Path copy = node.folder().resolve("object");
    List<String> objects = CLUSTER.rados("-p", "cephfs.data", "ls").lines().toList();
    assertThat(objects).hasSizeGreaterThan(2);
    for (String object : objects) {
      assertThat(CLUSTER.rados("-p", "cephfs.data", "get", object, copy.toString())).isNotNull();
      assertThat(Files.readString(copy, ISO_8859_1)).doesNotContain("telling");
    }
  }

  private void refusedByAnotherPassphrase(Volume volume) {
    NodeStageVolumeRequest wrong =
        node.stageRequest(volume, WRITER).putSecrets("encryptionPassphrase", "x").build();
    assertStatus(
        Code.FAILED_PRECONDITION, "does not open it", () -> node.stub().nodeStageVolume(wrong));
    assertThat(MountTable.read().at(node.staging(volume))).isEmpty();
    NodeStageVolumeRequest none =
        node.stageRequest(volume, WRITER).removeSecrets("encryptionPassphrase").build();
    assertStatus(
        Code.INVALID_ARGUMENT, "encryptionPassphrase", () -> node.stub().nodeStageVolume(none));
    Volume silent = volume.toBuilder().clearVolumeContext().build();
    assertStatus(Code.FAILED_PRECONDITION, "by the journal", () -> node.stage(silent, WRITER));
    assertThat(outside(root(volume))).hasSize(2);
  }

  /** The kernel has the key of the volume, and may keep both mounts as one file system. */
  private void theSameDirectoryNeedsItsPassphraseAgain(Volume volume) {
    Volume another =
        Volume.newBuilder()
            .setVolumeId("static-" + UUID.randomUUID())
            .putVolumeContext("staticVolume", "true")
            .putVolumeContext("clusterID", TestDriver.CLUSTER_ID)
            .putVolumeContext("fsName", CLUSTER.fileSystem())
            .putVolumeContext("rootPath", root(volume))
            .putVolumeContext("encrypted", "true")
            .build();
    NodeStageVolumeRequest wrong =
        node.stageRequest(another, WRITER).putSecrets("encryptionPassphrase", "x").build();
    assertStatus(
        Code.FAILED_PRECONDITION, "does not open it", () -> node.stub().nodeStageVolume(wrong));
    assertThat(MountTable.read().at(node.staging(another))).isEmpty();
  }

  private void unlockedByTheProgram(Volume volume) throws IOException {
    Path root = Files.createDirectories(node.folder().resolve("by-hand"));
    String monitor = CLUSTER.monitors().replaceAll(".*v1:([0-9.:]+).*", "$1").split(",", -1)[0];
    Path key = Files.writeString(node.folder().resolve("key"), CLUSTER.key("admin"));
    assertThat(
            Commands.run(
                List.of(
                    "mount",
                    "-t",
                    "ceph",
                    monitor + ":" + root(volume),
                    root.toString(),
                    "-o",
                    "name=admin,noshare,secretfile=" + key)))
        .isNotNull();
    try {
      Path folder = root.resolve(EncryptedFolder.NAME);
      assertThat(folder.resolve(NAME)).doesNotExist();
      FscryptProgram.run(TestDriver.PASSPHRASE, "unlock", "--quiet", folder.toString());
      assertThat(folder.resolve(NAME)).hasContent(TEXT);
    } finally {
      assertThat(Commands.run(List.of("umount", root.toString()))).isNotNull();
      Files.delete(root);
      Files.delete(key);
    }
  }

  private void shown(String snapshot) {
    Volume shallow = driver.show("shallow-" + UUID.randomUUID(), snapshot);
    node.stage(shallow, READER);
    NodePublishVolumeRequest.Builder request = node.publishRequest(shallow, READER, "pod");
    assertThat(node.stub().nodePublishVolume(request.setReadonly(true).build())).isNotNull();
    assertThat(node.target(shallow, "pod").resolve(NAME)).hasContent(TEXT);
    assertThat(node.stats(shallow, "pod").getUsage(0).getAvailable()).isZero();
    node.unpublish(shallow, "pod");
    node.unstage(shallow);
    driver.delete(shallow.getVolumeId());
  }

  private static boolean isStaged(NodeClient on, Volume volume) {
    return untilNotAborted(
        Duration.ofMinutes(2),
        () -> {
          on.stage(volume, WRITER);
          return true;
        });
  }

  /**
   * Another client was seen to read a file as empty that was just written (Linux 7.2, Ceph 20.2).
   */
  private static void awaitContent(Path file, String content) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .untilAsserted(() -> assertThat(file).hasContent(content));
  }

  /** Two clients of the kernel on one machine stand for two nodes: they share no mount. */
  @Test
  public void ofNodesThatStageAVolumeFirstAtOnceOneMakesTheFolderForAll() throws IOException {
    Volume volume = create().toBuilder().putVolumeContext("kernelMountOptions", "noshare").build();
    try (TestDriver second = driver();
        NodeClient other = second.node()) {
      CompletableFuture<Boolean> there =
          CompletableFuture.supplyAsync(() -> isStaged(other, volume));
      assertThat(isStaged(node, volume)).isTrue();
      assertThat(there.join()).isTrue();
      Path here = node.publish(volume, WRITER, "pod");
      Files.writeString(here.resolve(NAME), TEXT);
      Path away = other.publish(volume, WRITER, "pod");
      awaitContent(away.resolve(NAME), TEXT);
      Files.writeString(away.resolve(NAME), "changed");
      awaitContent(here.resolve(NAME), "changed");
      assertThat(outside(root(volume) + "/" + EncryptedFolder.NAME))
          .hasSize(1)
          .doesNotContain(NAME);
      other.unpublish(volume, "pod");
      other.unstage(volume);
      node.unpublish(volume, "pod");
      node.unstage(volume);
    }
    driver.delete(volume.getVolumeId());
  }
}
