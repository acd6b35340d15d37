package io.cephcsi.driver.node.rbd;

import static io.cephcsi.driver.testing.NodeClient.block;
import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.LuksDevices;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotateRequest;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotationControllerGrpc;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotationControllerGrpc.EncryptionKeyRotationControllerBlockingStub;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceResponse;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceResponse;
import io.cephcsi.proto.csi.v1.NodeStageVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnstageVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.grpc.Status.Code;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Encrypted volumes on a node. Run where the kernel has dm-crypt: by NodeInMachineIT. */
public class EncryptedNode extends NodeRbdCase {
  private static final String STATE = "rbd.csi.ceph.com/encrypted";
  private static final String DEK = "rbd.csi.ceph.com/dek";

  /** In the place of the same method above. */
  @BeforeAll
  static void start() {
    driver =
        TestDriver.rbd(CLUSTER)
            .instance("node-" + UUID.randomUUID())
            .withCredentials()
            .encrypted(Path.of("/nonexistent"), "default")
            .start();
  }

  private static String meta(Volume volume, String key) {
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool(CLUSTER.pool());
        RbdImage image = new RbdPool(io).openReadOnly(TestDriver.image(volume))) {
      return image.metadata().get(key).orElse("");
    }
  }

  private static byte[] start(Volume volume, int length) {
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool(CLUSTER.pool());
        RbdImage image = new RbdPool(io).openReadOnly(TestDriver.image(volume))) {
      return image.read(0, length);
    }
  }

  @Test
  void whatIsWrittenIsEncryptedAndThereAgain() throws Exception {
    Volume volume = create(128 * MIB);
    Set<String> seen = ConcurrentHashMap.newKeySet();
    AtomicBoolean stop = new AtomicBoolean();
    Thread watcher = new Thread(() -> watchForPassphrase(seen, stop));
    watcher.start();
    for (int i = 0; i < 2; i++) {
      node.stage(volume, writer("ext4"));
    }
    assertThat(meta(volume, STATE)).isEqualTo("encrypted");
    assertThat(new String(start(volume, 6), StandardCharsets.ISO_8859_1)).startsWith("LUKS");
    assertThat(staged(volume).toString()).contains("luks-rbd-" + volume.getVolumeId());
    assertStatus(
        Code.FAILED_PRECONDITION,
        "all volumes of KMS default",
        () -> rotation(driver).encryptionKeyRotate(rotate(driver, volume)));
    Path target = node.publish(volume, writer("ext4"), "pod");
    String text = "this text is nowhere in the image ".repeat(1000);
    Files.writeString(target.resolve("file"), text);
    node.unpublish(volume, "pod");
    for (int i = 0; i < 2; i++) {
      node.unstage(volume);
    }
    assertThat(LuksDevices.find(volume.getVolumeId())).isEmpty();
    assertNothingIsLeft(volume);
    assertThat(new String(all(volume), StandardCharsets.ISO_8859_1))
        .doesNotContain("this text is nowhere");

    node.stage(volume, writer(""));
    target = node.publish(volume, writer(""), "other");
    assertThat(target.resolve("file")).hasContent(text); // it was not formatted again
    assertThat(target.resolve("lost+found")).exists();
    grow(volume, 256 * MIB);
    long before = bytes(volume, "other");
    assertThat(node.expand(volume, "other").getCapacityBytes()).isEqualTo(256 * MIB);
    assertThat(bytes(volume, "other")).isGreaterThan(before + 100 * MIB);
    node.unpublish(volume, "other");
    node.unstage(volume);
    stop.set(true);
    watcher.join();
    assertThat(seen).as("where the passphrase was seen").isEmpty();
    assertNothingIsLeft(volume);
  }

  private long bytes(Volume volume, String pod) {
    return node.stats(volume, pod).getUsage(0).getTotal();
  }

  private static byte[] all(Volume volume) {
    return start(volume, (int) (64 * MIB));
  }

  /** Looks at the command lines and environments of all processes. */
  private static void watchForPassphrase(Set<String> seen, AtomicBoolean stop) {
    while (!stop.get()) {
      try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
        for (Path process : processes) {
          for (String file : new String[] {"cmdline", "environ"}) {
            if (contains(process.resolve(file))) {
              seen.add(process + " " + file);
            }
          }
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static boolean contains(Path file) {
    try {
      return new String(Files.readAllBytes(file), StandardCharsets.UTF_8)
          .contains(TestDriver.PASSPHRASE);
    } catch (IOException e) {
      return false; // it has ended
    }
  }

  @Test
  void aBlockVolumeIsTheDecryptedDevice() {
    Volume volume = create(64 * MIB);
    VolumeCapability use = block(Mode.SINGLE_NODE_WRITER);
    node.stage(volume, use);
    node.stage(volume, use);
    Path target = node.publish(volume, use, "pod");
    assertThat(BlockDevice.require(target).size()).isEqualTo(48 * MIB);
    assertThat(writeTo(target).exitCode()).isZero();
    grow(volume, 128 * MIB);
    assertThat(node.expand(volume, "pod").getCapacityBytes()).isEqualTo(128 * MIB);
    assertThat(BlockDevice.require(target).size()).isEqualTo(112 * MIB);
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @Test
  void unstagingWhereAVolumeIsNotStagedLeavesItsDevice() throws IOException {
    Volume volume = create(64 * MIB);
    VolumeCapability use = block(Mode.SINGLE_NODE_WRITER);
    node.stage(volume, use);
    Path elsewhere = Files.createTempDirectory("elsewhere");
    assertThat(
            node.stub()
                .nodeUnstageVolume(
                    NodeUnstageVolumeRequest.newBuilder()
                        .setVolumeId(volume.getVolumeId())
                        .setStagingTargetPath(elsewhere.toString())
                        .build()))
        .isNotNull();
    assertThat(LuksDevices.find(volume.getVolumeId())).isPresent();
    assertThat(writeTo(node.publish(volume, use, "pod")).exitCode()).isZero();
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertThat(LuksDevices.find(volume.getVolumeId())).isEmpty();
    assertNothingIsLeft(volume);
  }

  /** On a device that somebody else attached. */
  @Test
  void aStagingThatFailsClosesTheDeviceThatItOpened() {
    Volume volume = create(64 * MIB);
    node.stage(volume, writer("ext4"));
    Mounts.unmountAll(place(volume));
    LuksMapping.of(volume.getVolumeId()).orElseThrow().close();
    StagedImage.remove(node.staging(volume));
    assertStatus(Code.FAILED_PRECONDITION, "not xfs", () -> node.stage(volume, writer("xfs")));
    assertThat(LuksDevices.find(volume.getVolumeId())).isEmpty();
    assertThat(CLUSTER.rbd("status", image(volume))).doesNotContain("Watchers: none");
    node.stage(volume, writer("ext4"));
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @Test
  void aPassphraseThatDoesNotOpenTheVolumeChangesNothing() {
    Volume volume = create(64 * MIB);
    node.stage(volume, writer("ext4"));
    node.unstage(volume);
    byte[] before = start(volume, (int) (16 * MIB));
    NodeStageVolumeRequest wrong =
        node.stageRequest(volume, writer("ext4")).putSecrets("encryptionPassphrase", "x").build();
    assertStatus(
        Code.FAILED_PRECONDITION, "does not open it", () -> node.stub().nodeStageVolume(wrong));
    assertThat(start(volume, (int) (16 * MIB))).isEqualTo(before);
    assertNothingIsLeft(volume);
    CLUSTER.rbd("image-meta", "set", image(volume), STATE, "encryptionPrepared");
    assertStatus(
        Code.FAILED_PRECONDITION, "nothing was changed", () -> node.stub().nodeStageVolume(wrong));
    assertThat(start(volume, (int) (16 * MIB))).isEqualTo(before);
    CLUSTER.rbd("image-meta", "remove", image(volume), STATE);
    assertStatus(
        Code.FAILED_PRECONDITION,
        "nothing of its metadata says so",
        () -> node.stage(volume, writer("ext4")));
    assertNothingIsLeft(volume);
  }

  /** Whoever may write to the pool can exchange the header, also while the volume is in use. */
  @Test
  void aHeaderThatOpensByAnotherPassphraseIsRefused() throws Exception {
    Volume volume = create(64 * MIB);
    node.stage(volume, writer("ext4"));
    Path header = Files.createTempFile("header", ".img");
    byte[] before = start(volume, (int) (16 * MIB));
    Files.write(header, before);
    Process token =
        new ProcessBuilder(
                "cryptsetup", "token", "add", "--key-description", "x", header.toString())
            .inheritIO()
            .start();
    assertThat(token.waitFor()).isZero();
    write(volume, 0, Files.readAllBytes(header));
    node.publish(volume, writer("ext4"), "pod");
    grow(volume, 128 * MIB);
    assertStatus(Code.FAILED_PRECONDITION, "a token", () -> node.expand(volume, "pod"));
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
    assertStatus(Code.FAILED_PRECONDITION, "a token", () -> node.stage(volume, writer("ext4")));
    assertNothingIsLeft(volume);
    assertThat(start(volume, (int) (16 * MIB))).isEqualTo(Files.readAllBytes(header));
    write(volume, 0, before);
    node.stage(volume, writer("ext4"));
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  private static String image(Volume volume) {
    return CLUSTER.pool() + "/" + TestDriver.image(volume);
  }

  /** What a process left that died within the format, and what only looks like it. */
  @Test
  void aFormatThatWasCutOffIsBegunAgainAndDataAreNotTouched() throws IOException {
    Volume volume = create(64 * MIB);
    String id = id(volume);
    CLUSTER.rbd("image-meta", "set", image(volume), FormatNote.KEY, FormatNote.text("luks", id));
    write(volume, 0, "LUKS\u00ba\u00be".getBytes(StandardCharsets.ISO_8859_1));
    node.stage(volume, writer("ext4"));
    assertThat(meta(volume, STATE)).isEqualTo("encrypted");
    assertThat(meta(volume, FormatNote.KEY)).isEmpty();
    node.unstage(volume);

    Volume data = create(64 * MIB);
    write(data, 20 * MIB, new byte[] {1, 2, 3});
    assertStatus(Code.FAILED_PRECONDITION, "may hold data", () -> node.stage(data, writer("ext4")));
    CLUSTER.rbd(
        "image-meta", "set", image(data), FormatNote.KEY, FormatNote.text("luks", id(data)));
    assertStatus(Code.FAILED_PRECONDITION, "may hold data", () -> node.stage(data, writer("ext4")));
    assertThat(new String(start(data, 6), StandardCharsets.ISO_8859_1)).doesNotStartWith("LUKS");
    assertNothingIsLeft(data);
  }

  private static String id(Volume volume) {
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool(CLUSTER.pool())) {
      return ImageId.find(new RbdPool(io), TestDriver.image(volume)).orElseThrow();
    }
  }

  private static void write(Volume volume, long at, byte[] bytes) {
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool(CLUSTER.pool());
        RbdImage image = new RbdPool(io).open(TestDriver.image(volume))) {
      image.write(at, bytes);
      image.flush();
    }
  }

  /** Volumes that ceph-csi made: the same commands, without a note of ours. */
  @Test
  void aVolumeOfCephCsiIsOpened() throws IOException {
    Volume volume = create(64 * MIB);
    node.stage(volume, writer("ext4"));
    Path target = node.publish(volume, writer("ext4"), "pod");
    Files.writeString(target.resolve("file"), "kept");
    node.unpublish(volume, "pod");
    node.unstage(volume);
    // A process that died between the format and the mark.
    CLUSTER.rbd("image-meta", "set", image(volume), STATE, "encryptionPrepared");
    node.stage(volume, writer("ext4"));
    assertThat(meta(volume, STATE)).isEqualTo("encrypted");
    target = node.publish(volume, writer("ext4"), "pod");
    assertThat(target.resolve("file")).hasContent("kept");
    node.unpublish(volume, "pod");
    node.unstage(volume);

    Volume copy = driver.copy("copy-" + UUID.randomUUID(), 96 * MIB, volume.getVolumeId());
    volumes.add(0, copy);
    node.stage(copy, writer("ext4"));
    target = node.publish(copy, writer("ext4"), "pod");
    assertThat(target.resolve("file")).hasContent("kept");
    assertThat(bytes(copy)).isGreaterThan(64 * MIB);
    node.unpublish(copy, "pod");
    node.unstage(copy);
    assertNothingIsLeft(copy);
  }

  private static EncryptionKeyRotationControllerBlockingStub rotation(TestDriver of) {
    return EncryptionKeyRotationControllerGrpc.newBlockingStub(of.channel());
  }

  private static EncryptionKeyRotateRequest rotate(TestDriver of, Volume volume) {
    return EncryptionKeyRotateRequest.newBuilder()
        .setVolumeId(volume.getVolumeId())
        .putAllSecrets(of.secrets())
        .build();
  }

  @Test
  void aPassphraseIsChangedWhileTheVolumeIsInUse() throws IOException {
    Path kms = Files.createTempFile("kms", ".json");
    Files.writeString(kms, "{\"meta\": {\"encryptionKMSType\": \"metadata\"}}");
    try (TestDriver rotating =
            TestDriver.rbd(CLUSTER)
                .instance("rotating-" + UUID.randomUUID())
                .withCredentials()
                .encrypted(kms, "meta")
                .start();
        NodeClient client = rotating.node()) {
      Volume volume = rotating.create("pvc-" + UUID.randomUUID(), 64 * MIB);
      assertStatus(
          Code.FAILED_PRECONDITION,
          "never staged",
          () -> rotation(rotating).encryptionKeyRotate(rotate(rotating, volume)));
      client.stage(volume, writer("ext4"));
      Path target = client.publish(volume, writer("ext4"), "pod");
      Files.writeString(target.resolve("file"), "kept");
      String before = meta(volume, DEK);
      for (int i = 0; i < 2; i++) {
        assertThat(rotation(rotating).encryptionKeyRotate(rotate(rotating, volume))).isNotNull();
      }
      assertThat(meta(volume, DEK)).isNotEqualTo(before);
      assertThat(target.resolve("file")).hasContent("kept");
      client.unpublish(volume, "pod");
      client.unstage(volume);
      assertStatus(
          Code.FAILED_PRECONDITION,
          "not staged on this node",
          () -> rotation(rotating).encryptionKeyRotate(rotate(rotating, volume)));
      String after = meta(volume, DEK);
      CLUSTER.rbd("image-meta", "set", image(volume), DEK, before);
      assertStatus(
          Code.FAILED_PRECONDITION, "does not open it", () -> client.stage(volume, writer("ext4")));
      CLUSTER.rbd("image-meta", "set", image(volume), DEK, after);
      client.stage(volume, writer("ext4"));
      target = client.publish(volume, writer("ext4"), "pod");
      assertThat(target.resolve("file")).hasContent("kept");
      client.unpublish(volume, "pod");
      client.unstage(volume);
      assertThat(CLUSTER.rados("-p", CLUSTER.pool(), "ls")).doesNotContain(volume.getVolumeId());
      rotating.delete(volume.getVolumeId());
    }
  }

  @Test
  void deletedFilesGiveTheirSpaceBackOnlyWhereDiscardsMayPass() throws IOException {
    for (boolean allowed : new boolean[] {false, true}) {
      Volume volume =
          driver.create(
              driver
                  .createRequest("pvc-" + UUID.randomUUID(), 256 * MIB)
                  .putParameters("encryptionAllowDiscards", Boolean.toString(allowed)));
      volumes.add(volume);
      node.stage(volume, writer("ext4"));
      Path target = node.publish(volume, writer("ext4"), "pod");
      write(target.resolve("kept"), 8);
      byte[] kept = Files.readAllBytes(target.resolve("kept"));
      write(target.resolve("data"), 64);
      Files.delete(target.resolve("data"));
      if (allowed) {
        NodeReclaimSpaceResponse answer = node.reclaim(node.reclaimRequest(volume).build());
        long freed = answer.getPreUsage().getUsageBytes() - answer.getPostUsage().getUsageBytes();
        assertThat(freed).isGreaterThan(56 * MIB);
      } else {
        assertStatus(
            Code.UNIMPLEMENTED,
            "encryptionAllowDiscards",
            () -> node.reclaim(node.reclaimRequest(volume).build()));
      }
      node.unpublish(volume, "pod");
      node.unstage(volume);
      assertNothingIsLeft(volume);
      if (!allowed) {
        assertThat(reclaimOffline(volume, "false")).isLessThan(MIB);
        assertThat(reclaimOffline(volume, "true")).isGreaterThan(56 * MIB);
      }
      node.stage(volume, writer("ext4"));
      target = node.publish(volume, writer("ext4"), "pod");
      assertThat(target.resolve("kept")).hasBinaryContent(kept);
      node.unpublish(volume, "pod");
      node.unstage(volume);
    }
  }

  /** How many bytes it freed. */
  private static long reclaimOffline(Volume volume, String decrypt) {
    ControllerReclaimSpaceResponse answer =
        driver
            .reclaim()
            .controllerReclaimSpace(
                ControllerReclaimSpaceRequest.newBuilder()
                    .setVolumeId(volume.getVolumeId())
                    .putAllSecrets(driver.secrets())
                    .putParameters("reclaim.method", "trim")
                    .putParameters("reclaim.decrypt", decrypt)
                    .build());
    return answer.getPreUsage().getUsageBytes() - answer.getPostUsage().getUsageBytes();
  }
}
