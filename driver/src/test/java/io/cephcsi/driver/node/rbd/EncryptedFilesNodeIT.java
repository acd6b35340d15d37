package io.cephcsi.driver.node.rbd;

import static io.cephcsi.driver.testing.NodeClient.block;
import static io.cephcsi.driver.testing.NodeClient.mounted;
import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.fscrypt.EncryptedFolder;
import io.cephcsi.driver.node.fscrypt.FscryptProgram;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotateRequest;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotationControllerGrpc;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceResponse;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceResponse;
import io.cephcsi.proto.csi.v1.NodeStageVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.Commands;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Volumes whose files are encrypted, on this machine. Needs root. */
class EncryptedFilesNodeIT extends NodeRbdCase {
  private static final VolumeCapability WRITER = writer("ext4");

  /** In the place of the same method above. */
  @BeforeAll
  static void start() {
    FscryptProgram.configure();
    driver =
        TestDriver.rbd(CLUSTER)
            .instance("node-" + UUID.randomUUID())
            .withCredentials()
            .encryptedFiles(Path.of("/nonexistent"), "default")
            .start();
  }

  private Path stagedFolder(Volume volume) {
    return place(volume).resolve(EncryptedFolder.NAME);
  }

  private static List<String> names(Path folder) throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.map(path -> String.valueOf(path.getFileName())).sorted().toList();
    }
  }

  @Test
  void whatAWorkloadWritesIsEncryptedAndThereAgain() throws IOException {
    Volume volume = create(128 * MIB);
    for (int i = 0; i < 2; i++) {
      node.stage(volume, WRITER);
    }
    Path target = node.publish(volume, WRITER, "pod");
    assertThat(names(target)).as("nothing of the file system's own is seen").isEmpty();
    assertThat(MountTable.read().at(target).orElseThrow().root())
        .isEqualTo("/" + EncryptedFolder.NAME);
    Files.writeString(target.resolve("a telling name"), "a telling content");
    assertThat(node.publish(volume, WRITER, "pod")).isEqualTo(target);
    node.publish(volume, WRITER, "another");
    assertThat(node.target(volume, "another").resolve("a telling name")).exists();
    assertStatus(Code.FAILED_PRECONDITION, "still published", () -> node.unstage(volume));
    long before = bytes(volume);
    grow(volume, 256 * MIB);
    if (mayGrowExt4()) {
      assertThat(node.expand(volume, "pod").getCapacityBytes()).isEqualTo(256 * MIB);
      assertThat(bytes(volume)).isGreaterThan(before + 100 * MIB);
    }
    assertStatus(
        Code.UNIMPLEMENTED,
        "encrypted files",
        () ->
            EncryptionKeyRotationControllerGrpc.newBlockingStub(driver.channel())
                .encryptionKeyRotate(
                    EncryptionKeyRotateRequest.newBuilder()
                        .setVolumeId(volume.getVolumeId())
                        .putAllSecrets(driver.secrets())
                        .build()));
    node.unpublish(volume, "another");
    node.unpublish(volume, "pod");
    for (int i = 0; i < 2; i++) {
      node.unstage(volume);
    }
    assertNothingIsLeft(volume);
    assertThat(CLUSTER.rbd("image-meta", "ls", image(volume)))
        .doesNotContain("rbd.csi.ceph.com/encrypted");
    Path copy = exported(volume);
    for (String text : List.of("a telling name", "a telling content", TestDriver.PASSPHRASE)) {
      assertThat(Commands.run(List.of("sh", "-c", "grep -c '" + text + "' " + copy + " || true")))
          .as(text)
          .startsWith("0");
    }
    unlockedByTheProgram(copy);
    node.stage(volume, writer(""));
    target = node.publish(volume, writer(""), "pod");
    assertThat(target.resolve("a telling name")).hasContent("a telling content");
    assertThat(bytes(volume)).isGreaterThan(before + 100 * MIB);
    node.unpublish(volume, "pod");
    node.unstage(volume);
  }

  @Test
  void aContextThatNamesAnotherKmsThanTheJournalIsRefused() {
    Volume volume = create(64 * MIB);
    assertStatus(
        Code.FAILED_PRECONDITION,
        "volume_context says encryptionKMSID \"other\", the journal \"default\"",
        () -> node.stub().nodeStageVolume(naming(volume, "other")));
    assertNothingIsLeft(volume);
    for (String same : List.of("", "default")) {
      assertThat(node.stub().nodeStageVolume(naming(volume, same))).isNotNull();
      node.unstage(volume);
    }
  }

  /** As who writes to the pool can do to have the passphrase taken from a place of their own. */
  @Test
  void aJournalThatNamesAnotherKmsThanTheVolumeWasMadeForIsRefused() {
    Volume volume =
        driver.create(
            driver
                .createRequest("volume-" + UUID.randomUUID(), 64 * MIB)
                .removeParameters("encryptionKMSID")
                .putParameters("csi.storage.k8s.io/pvc/namespace", "shop"));
    record(volume, "csi.volume.encryptKMS", "evil");
    assertStatus(
        Code.FAILED_PRECONDITION,
        "volume_context says encryptionKMSID \"default\", the journal \"evil\"",
        () -> node.stage(volume, WRITER));
    assertNothingIsLeft(volume);
    assertThat(CLUSTER.rbd("diff", image(volume))).as("nothing is formatted").isBlank();
    record(volume, "csi.volume.encryptKMS", "default");
    record(volume, "csi.volume.owner", "bound-later"); // as ceph-csi does; the KMS has no tenants
    node.stage(volume, WRITER);
    node.unstage(volume);
    driver.delete(volume.getVolumeId());
  }

  /** The driver was killed as it had attached the image, and the next call gets no passphrase. */
  @Test
  void aVolumeThatIsHalfStagedIsToBeUnstagedWhenItsKmsIsRefused() {
    Volume volume = create(64 * MIB);
    Volume silent = volume.toBuilder().clearVolumeContext().build();
    node.stage(volume, WRITER);
    Mounts.unmountAll(place(volume));
    record(volume, "csi.volume.encryptKMS", "evil");
    assertStatus(Code.UNAVAILABLE, "the journal \"evil\"", () -> node.stage(volume, WRITER));
    assertStatus(Code.UNAVAILABLE, "is encrypted", () -> node.stage(silent, WRITER));
    assertThat(node.staging(volume).resolve(StagedImage.FILE)).exists();
    node.unstage(volume);
    assertNothingIsLeft(volume);
    assertStatus(
        Code.FAILED_PRECONDITION, "the journal \"evil\"", () -> node.stage(volume, WRITER));
    assertNothingIsLeft(volume);
    record(volume, "csi.volume.encryptKMS", "default");
  }

  private static void record(Volume volume, String key, String value) {
    String uuid = VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid().toString();
    CLUSTER.rados("-p", CLUSTER.pool(), "setomapval", "csi.volume." + uuid, key, value);
  }

  private NodeStageVolumeRequest naming(Volume volume, String kms) {
    return node.stageRequest(volume, WRITER).putVolumeContext("encryptionKMSID", kms).build();
  }

  private static String image(Volume volume) {
    return CLUSTER.pool() + "/" + TestDriver.image(volume);
  }

  private Path exported(Volume volume) {
    Path copy = node.folder().resolve("exported");
    CLUSTER.rbd("export", "--no-progress", image(volume), copy.toString());
    return copy;
  }

  /** On a copy of the image, whose file system has the policy. */
  private void unlockedByTheProgram(Path copy) throws IOException {
    Path root = Files.createDirectories(node.folder().resolve("copied"));
    assertThat(Commands.run(List.of("mount", "-o", "loop", copy.toString(), root.toString())))
        .isNotNull();
    try {
      Path folder = root.resolve(EncryptedFolder.NAME);
      assertThat(folder.resolve("a telling name")).doesNotExist();
      FscryptProgram.run(TestDriver.PASSPHRASE, "unlock", "--quiet", folder.toString());
      assertThat(folder.resolve("a telling name")).hasContent("a telling content");
    } finally {
      assertThat(Commands.run(List.of("umount", root.toString()))).isNotNull();
      Files.delete(copy);
      Files.delete(root);
    }
  }

  @Test
  void anotherPassphraseChangesNothing() throws IOException {
    Volume volume = create(64 * MIB);
    node.stage(volume, WRITER);
    Path target = node.publish(volume, WRITER, "pod");
    Files.writeString(target.resolve("file"), "kept");
    node.unpublish(volume, "pod");
    node.unstage(volume);
    NodeStageVolumeRequest wrong =
        node.stageRequest(volume, WRITER).putSecrets("encryptionPassphrase", "x").build();
    assertStatus(
        Code.FAILED_PRECONDITION, "does not open it", () -> node.stub().nodeStageVolume(wrong));
    assertNothingIsLeft(volume);
    NodeStageVolumeRequest none =
        node.stageRequest(volume, WRITER).removeSecrets("encryptionPassphrase").build();
    assertStatus(
        Code.INVALID_ARGUMENT, "encryptionPassphrase", () -> node.stub().nodeStageVolume(none));
    assertNothingIsLeft(volume);
    node.stage(volume, WRITER);
    target = node.publish(volume, WRITER, "pod");
    assertThat(target.resolve("file")).hasContent("kept");
    node.unpublish(volume, "pod");
    node.unstage(volume);
  }

  @Test
  void whatCannotBeEncryptedSoIsRefused() {
    Volume volume = create(512 * MIB);
    assertStatus(Code.INVALID_ARGUMENT, "ext4, not xfs", () -> node.stage(volume, writer("xfs")));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "not a block device",
        () -> node.stage(volume, block(Mode.SINGLE_NODE_WRITER)));
    Volume asBlocks = volume.toBuilder().putVolumeContext("encryptionType", "block").build();
    assertStatus(
        Code.FAILED_PRECONDITION, "the journal \"file\"", () -> node.stage(asBlocks, WRITER));
    assertNothingIsLeft(volume);
  }

  /** A PersistentVolume that was written by hand may do without the parameters of its class. */
  @Test
  void whatTheJournalCallsEncryptedIsNotStagedAsPlain() {
    for (String type : List.of("file", "block")) {
      Volume volume =
          driver.create(
              driver
                  .createRequest("pvc-" + UUID.randomUUID(), 64 * MIB)
                  .putParameters("encryptionType", type));
      volumes.add(volume);
      for (Volume silent :
          List.of(
              volume.toBuilder().clearVolumeContext().build(),
              volume.toBuilder().putVolumeContext("encrypted", "false").build())) {
        for (VolumeCapability use : List.of(WRITER, block(Mode.SINGLE_NODE_WRITER))) {
          assertStatus(
              Code.FAILED_PRECONDITION,
              "is encrypted by the journal",
              () -> node.stage(silent, use));
        }
      }
      assertNothingIsLeft(volume);
      assertThat(CLUSTER.rbd("du", image(volume))).containsPattern("64 MiB +0 B");
    }
  }

  @Test
  void aPlainFileSystemGetsNoEncryptedFiles() {
    Volume plain =
        driver.create(
            driver
                .createRequest("pvc-" + UUID.randomUUID(), 64 * MIB)
                .putParameters("encrypted", "false"));
    volumes.add(plain);
    Volume claimed =
        plain.toBuilder()
            .putVolumeContext("encrypted", "true")
            .putVolumeContext("encryptionType", "file")
            .build();
    node.stage(plain, WRITER);
    assertThat(stagedFolder(plain)).doesNotExist();
    assertStatus(
        Code.FAILED_PRECONDITION,
        "stage the volume again",
        () -> node.publish(claimed, WRITER, "pod"));
    node.unstage(plain);
    assertStatus(
        Code.FAILED_PRECONDITION,
        "its journal entry does not say so",
        () -> node.stage(claimed, WRITER));
    record(plain, "csi.volume.encryptKMS", "default");
    record(plain, "csi.volume.encryptionType", "file");
    assertStatus(Code.FAILED_PRECONDITION, "-O encrypt", () -> node.stage(claimed, WRITER));
    assertNothingIsLeft(plain);
  }

  /** A process died after the mount, or somebody mounted it by hand. */
  @Test
  void aVolumeThatIsMountedAndLockedIsUnlockedByTheNextCall() throws IOException {
    Volume volume = create(64 * MIB);
    Volume shaped =
        volume.toBuilder().putVolumeContext("mkfsOptions", "-O ^metadata_csum -m 1").build();
    node.stage(shaped, WRITER);
    Path target = node.publish(shaped, WRITER, "pod");
    Files.writeString(target.resolve("file"), "kept");
    node.unpublish(volume, "pod");
    FscryptProgram.run("", "lock", "--quiet", stagedFolder(volume).toString());
    assertStatus(
        Code.FAILED_PRECONDITION, "has no key here", () -> node.publish(volume, WRITER, "pod"));
    Volume silent = volume.toBuilder().clearVolumeContext().build();
    assertStatus(
        Code.FAILED_PRECONDITION, "has no key here", () -> node.publish(silent, WRITER, "pod"));
    node.stage(volume, WRITER);
    target = node.publish(silent, WRITER, "pod");
    assertThat(names(target)).containsExactly("file");
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @Test
  void copiesAreOpenedBySecretsOfTheirSource() throws IOException {
    Volume volume = create(64 * MIB);
    node.stage(volume, WRITER);
    Path target = node.publish(volume, WRITER, "pod");
    Files.writeString(target.resolve("file"), "copied");
    node.unpublish(volume, "pod");
    node.unstage(volume);
    Snapshot snapshot = driver.snapshot("snap-" + UUID.randomUUID(), volume.getVolumeId());
    Volume restored =
        driver.create(
            driver.restoreRequest("pvc-" + UUID.randomUUID(), 96 * MIB, snapshot.getSnapshotId()));
    volumes.add(0, restored);
    node.stage(restored, WRITER);
    target = node.publish(restored, WRITER, "pod");
    assertThat(target.resolve("file")).hasContent("copied");
    assertThat(bytes(restored)).isGreaterThan(64 * MIB);
    node.unpublish(restored, "pod");
    node.unstage(restored);
    VolumeCapability reader = mounted("ext4", Mode.MULTI_NODE_READER_ONLY);
    node.stage(restored, reader);
    target = node.publish(restored, reader, "pod");
    assertThat(target.resolve("file")).hasContent("copied");
    node.unpublish(restored, "pod");
    node.unstage(restored);
    assertNothingIsLeft(restored);
    driver.deleteSnapshot(snapshot.getSnapshotId());
  }

  @Test
  void deletedFilesGiveTheirSpaceBackOnlineAndOffline() throws IOException {
    Volume volume = create(256 * MIB);
    node.stage(volume, WRITER);
    Path target = node.publish(volume, WRITER, "pod");
    write(target.resolve("kept"), 8);
    byte[] kept = Files.readAllBytes(target.resolve("kept"));
    write(target.resolve("data"), 64);
    Files.delete(target.resolve("data"));
    NodeReclaimSpaceResponse online = node.reclaim(node.reclaimRequest(volume).build());
    assertThat(online.getPreUsage().getUsageBytes() - online.getPostUsage().getUsageBytes())
        .isGreaterThan(56 * MIB);
    write(target.resolve("data"), 64);
    Files.delete(target.resolve("data"));
    node.unpublish(volume, "pod");
    node.unstage(volume);
    ControllerReclaimSpaceResponse offline =
        driver
            .reclaim()
            .controllerReclaimSpace(
                ControllerReclaimSpaceRequest.newBuilder()
                    .setVolumeId(volume.getVolumeId())
                    .putAllSecrets(driver.secrets())
                    .putParameters("reclaim.method", "trim")
                    .putParameters("reclaim.decrypt", "true")
                    .build());
    assertThat(offline.getPreUsage().getUsageBytes() - offline.getPostUsage().getUsageBytes())
        .isGreaterThan(56 * MIB);
    node.stage(volume, WRITER);
    target = node.publish(volume, WRITER, "pod");
    assertThat(target.resolve("kept")).hasBinaryContent(kept);
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @Test
  void theGroupOfAWorkloadGetsTheFilesAndNotTheKeys() throws IOException {
    Volume volume = create(64 * MIB);
    VolumeCapability use =
        WRITER.toBuilder()
            .setMount(WRITER.getMount().toBuilder().setVolumeMountGroup("4711"))
            .build();
    node.stage(volume, use);
    assertThat(Files.getAttribute(stagedFolder(volume), "unix:gid")).isEqualTo(4711);
    assertThat(Files.getAttribute(place(volume).resolve(".fscrypt"), "unix:gid")).isEqualTo(0);
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }
}
