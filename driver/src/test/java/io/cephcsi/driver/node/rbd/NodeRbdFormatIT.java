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
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeStageVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.Commands;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which images are formatted, with which options, and which never are. */
public class NodeRbdFormatIT extends NodeRbdCase {
  @Test
  void aVolumeWithForeignContentIsNeverFormatted() {
    Volume volume = create(64 * MIB);
    byte[] content = "precious".repeat(1000).getBytes(StandardCharsets.UTF_8);
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage image = new RbdPool(io).open(TestDriver.image(volume))) {
      image.write(32 * MIB, content);
      image.flush();
    }
    assertStatus(
        Code.FAILED_PRECONDITION, "may hold data", () -> node.stage(volume, writer("ext4")));
    assertNothingIsLeft(volume);
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage image = new RbdPool(io).openReadOnly(TestDriver.image(volume))) {
      assertThat(image.read(32 * MIB, content.length)).isEqualTo(content);
    }
  }

  @Test
  void anotherFileSystemThanAskedForIsRefusedAndKept() {
    Volume volume = create(512 * MIB);
    node.stage(volume, writer("xfs"));
    node.unstage(volume);
    assertStatus(
        Code.FAILED_PRECONDITION, "holds xfs, not ext4", () -> node.stage(volume, writer("ext4")));
    node.stage(volume, writer("xfs"));
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  /** After FAILED_PRECONDITION kubelet would never unstage it. */
  @Test
  void aFailedStagingThatLeavesTheDeviceIsToBeUnstaged() throws IOException {
    Volume volume = create(512 * MIB);
    node.stage(volume, writer("xfs"));
    Path device = staged(volume);
    Mounts.unmountAll(place(volume)); // as of a driver that was killed before it mounted it
    try (FileChannel held = FileChannel.open(device, StandardOpenOption.READ)) {
      assertStatus(
          Code.UNAVAILABLE, "holds xfs, not ext4", () -> node.stage(volume, writer("ext4")));
      assertThat(node.files("staging")).isNotEmpty();
      assertThat(held.size()).isNotNegative();
    }
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  /** The next call may fail before it comes to the device, as after a change of the key. */
  @Test
  void aRefusedStagingBehindOneThatDiedIsToBeUnstaged() {
    Volume volume = create(64 * MIB);
    NodeStageVolumeRequest wrong =
        node.stageRequest(volume, writer("ext4")).putSecrets("userID", "nobody").build();
    assertStatus(Code.UNAUTHENTICATED, () -> node.stub().nodeStageVolume(wrong));
    node.stage(volume, writer("ext4"));
    Mounts.unmountAll(place(volume)); // as of a driver that was killed before it mounted it
    assertStatus(Code.UNAVAILABLE, "NodeUnstageVolume", () -> node.stub().nodeStageVolume(wrong));
    Volume hostile = volume.toBuilder().putVolumeContext("mkfsOptions", "-d /etc").build();
    assertStatus(Code.INVALID_ARGUMENT, () -> node.stage(hostile, writer("ext4")));
    node.stage(volume, writer("ext4"));
    node.stage(volume, writer("ext4"));
    assertStatus(Code.UNAVAILABLE, "NodeUnstageVolume", () -> node.stub().nodeStageVolume(wrong));
    assertThat(staged(volume)).exists();
    node.unstage(volume);
    assertNothingIsLeft(volume);
    assertStatus(Code.UNAUTHENTICATED, () -> node.stub().nodeStageVolume(wrong));
  }

  /** Nothing is written, neither to the image nor to this machine. */
  @Test
  void optionsThatReachFilesOrCannotBeAreRefusedAtOnce() {
    Volume volume = create(64 * MIB);
    Path file = node.folder().resolve("written");
    refuse(volume, "mkfsOptions", "-d /etc");
    for (String option : List.of("log_file", "admin_socket", "plugin_dir")) {
      for (String kind : List.of("krbd", "nbd", "fuse")) {
        refuse(volume, "mapOptions", kind + ":" + option + "=" + file);
        refuse(volume, "unmapOptions", kind + ":" + option + "=" + file);
      }
    }
    for (String flag :
        List.of("noatime,loop", "subtype=x", "journal_path=" + file, "errors=panic")) {
      assertStatus(
          Code.INVALID_ARGUMENT,
          "mount_flags",
          () -> node.stage(volume, mounted("ext4", Mode.SINGLE_NODE_WRITER, flag)));
    }
    assertStatus(Code.FAILED_PRECONDITION, "300", () -> node.stage(volume, writer("xfs")));
    Volume unfit = volume.toBuilder().putVolumeContext("mkfsOptions", "-b 1024 -I 8192").build();
    assertStatus(
        Code.FAILED_PRECONDITION, "cannot be formatted", () -> node.stage(unfit, writer("ext4")));
    assertThat(file).doesNotExist();
    assertThat(CLUSTER.rbd("image-meta", "list", CLUSTER.pool() + "/" + TestDriver.image(volume)))
        .doesNotContain(FormatNote.KEY);
    assertNothingIsLeft(volume);
    Volume shaped = volume.toBuilder().putVolumeContext("mkfsOptions", "-F -N 64").build();
    node.stage(shaped, writer("ext4")); // it is blank
    node.unstage(volume);
    assertStatus( // such as an option of the other file system
        Code.FAILED_PRECONDITION,
        "mount options",
        () -> node.stage(volume, mounted("", Mode.SINGLE_NODE_WRITER, "allocsize=64k")));
    assertNothingIsLeft(volume);
  }

  private void refuse(Volume volume, String parameter, String text) {
    Volume hostile = volume.toBuilder().putVolumeContext(parameter, text).build();
    assertStatus(Code.INVALID_ARGUMENT, parameter, () -> node.stage(hostile, writer("ext4")));
    CreateVolumeRequest.Builder request = driver.createRequest("pvc-refused", 64 * MIB);
    assertStatus(
        Code.INVALID_ARGUMENT,
        parameter,
        () -> driver.controller().createVolume(request.putParameters(parameter, text).build()));
  }

  @Test
  void theSuperblockOfExt4NeitherPanicsNorNamesAnotherJournal() {
    Volume volume = create(64 * MIB);
    VolumeCapability reader = mounted("ext4", Mode.SINGLE_NODE_READER_ONLY);
    node.stage(volume, writer("ext4"));
    node.unstage(volume);
    change(volume, "ssv errors 3"); // EXT2_ERRORS_PANIC
    assertThat(superOptions(volume, writer("ext4"))).contains("errors=remount-ro");
    assertThat(superOptions(volume, reader)).contains("errors=remount-ro");
    VolumeCapability chosen = mounted("ext4", Mode.SINGLE_NODE_WRITER, "errors=continue");
    assertThat(superOptions(volume, chosen)).contains("errors=continue");
    change(volume, "ssv journal_inum 0");
    for (VolumeCapability use : List.of(writer("ext4"), reader)) {
      assertStatus(Code.FAILED_PRECONDITION, "another device", () -> node.stage(volume, use));
    }
    assertNothingIsLeft(volume);
  }

  private void change(Volume volume, String request) {
    VolumeCapability raw = block(Mode.SINGLE_NODE_WRITER);
    node.stage(volume, raw);
    String device = node.publish(volume, raw, "pod").toString();
    Commands.run(List.of("debugfs", "-w", "-R", request, device));
    node.remove(volume);
  }

  /**
   * Another driver may have mounted the volume after a format whose note was left behind, and may
   * have died with it: then it has errors, as one has whose format was cut off.
   */
  @Test
  void aNoteOfAFormatThatWasLeftBehindDestroysNothing() throws IOException {
    Volume volume = create(128 * MIB);
    node.stage(volume, writer("ext4"));
    Path target = node.publish(volume, writer("ext4"), "pod");
    Files.writeString(target.resolve("file"), "kept");
    node.remove(volume);
    VolumeCapability raw = block(Mode.SINGLE_NODE_WRITER);
    node.stage(volume, raw);
    String device = node.publish(volume, raw, "pod").toString();
    Commands.run(List.of("debugfs", "-w", "-R", "sif / links_count 7", device));
    assertThat(
            Command.of("e2fsck", "-f", "-n")
                .with(Argument.path(Path.of(device)))
                .tryRun()
                .exitCode())
        .isNotZero();
    node.remove(volume);
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage image = new RbdPool(io).open(TestDriver.image(volume))) {
      image.metadata().set(FormatNote.KEY, FormatNote.text("ext4", image.id()));
    }
    node.stage(volume, writer("ext4"));
    target = node.publish(volume, writer("ext4"), "pod");
    assertThat(target.resolve("file")).hasContent("kept");
    assertThat(CLUSTER.rbd("image-meta", "list", CLUSTER.pool() + "/" + TestDriver.image(volume)))
        .doesNotContain(FormatNote.KEY);
  }

  @Test
  void aDeviceThatKeepsTheLockForItselfIsFormatted() throws IOException {
    assumeTrue(NodeClient.mounter().equals("rbd")); // only the kernel keeps it
    Volume volume =
        create(128 * MIB).toBuilder().putVolumeContext("mapOptions", "krbd:exclusive").build();
    node.stage(volume, writer("ext4"));
    Path target = node.publish(volume, writer("ext4"), "pod");
    Files.writeString(target.resolve("file"), "kept");
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  /** What was lost is the superblock only, and the data are more than any format leaves. */
  @Test
  void aNoteOfAFormatIsNoReasonToOverwriteMuchThatIsNotRecognised() {
    Volume volume = create(1024 * MIB);
    byte[] data = new byte[(int) (4 * MIB)];
    new Random(1).nextBytes(data);
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage image = new RbdPool(io).open(TestDriver.image(volume))) {
      image.metadata().set(FormatNote.KEY, FormatNote.text("ext4", image.id()));
      image.write(0, new byte[1 << 20]);
      for (int i = 1; i <= 65; i++) {
        image.write(4 * MIB * i, data);
      }
    }
    assertStatus(
        Code.FAILED_PRECONDITION, "may hold data", () -> node.stage(volume, writer("ext4")));
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage image = new RbdPool(io).open(TestDriver.image(volume))) {
      assertThat(image.read(8 * MIB, data.length)).isEqualTo(data);
      image.write(4 * MIB, new byte[data.length]); // zeros may be of a format
      image.write(8 * MIB, new byte[data.length]);
    }
    node.stage(volume, writer("ext4"));
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  /** A clone has the note when its source was being formatted; older versions named no image. */
  @ParameterizedTest
  @ValueSource(strings = {"ext4", "ext4 0123456789ab"})
  void aNoteOfAnotherImagesFormatIsNoReasonToOverwriteAnything(String note) {
    Volume volume = create(64 * MIB);
    byte[] data = "precious".getBytes(StandardCharsets.UTF_8);
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage image = new RbdPool(io).open(TestDriver.image(volume))) {
      image.metadata().set(FormatNote.KEY, note);
      image.write(8 * MIB, data);
      image.flush();
    }
    assertStatus(
        Code.FAILED_PRECONDITION, "may hold data", () -> node.stage(volume, writer("ext4")));
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage image = new RbdPool(io).open(TestDriver.image(volume))) {
      assertThat(image.read(8 * MIB, data.length)).isEqualTo(data);
      image.write(8 * MIB, new byte[data.length]);
    }
    node.stage(volume, writer("ext4"));
    assertThat(CLUSTER.rbd("image-meta", "list", CLUSTER.pool() + "/" + TestDriver.image(volume)))
        .doesNotContain(FormatNote.KEY);
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }
}
