package io.cephcsi.driver.node.rbd;

import static io.cephcsi.driver.testing.NodeClient.block;
import static io.cephcsi.driver.testing.NodeClient.mounted;
import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.testing.MirrorDaemon;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.Commands;
import io.grpc.Status.Code;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who may read and write an RBD volume on this machine: access modes, options, groups. */
public class NodeRbdAccessIT extends NodeRbdCase {
  @Test
  void readersCannotWrite() throws IOException {
    Volume volume = create(128 * MIB);
    node.stage(volume, writer("ext4"));
    Path written = node.publish(volume, writer("ext4"), "pod");
    Files.writeString(written.resolve("file"), "content");
    @SuppressWarnings("unused")
    var answer =
        node.stub()
            .nodePublishVolume(
                node.publishRequest(volume, writer("ext4"), "reader").setReadonly(true).build());
    Path read = node.target(volume, "reader");
    assertThat(read.resolve("file")).hasContent("content");
    assertThat(MountTable.read().at(read).orElseThrow().options()).contains("ro");
    assertStatus(Code.ALREADY_EXISTS, () -> node.publish(volume, writer("ext4"), "reader"));
    node.unpublish(volume, "reader");
    node.unpublish(volume, "pod");
    node.unstage(volume);
    VolumeCapability reader = mounted("ext4", Mode.SINGLE_NODE_READER_ONLY);
    node.stage(volume, reader);
    read = node.publish(volume, reader, "reader");
    assertThat(read.resolve("file")).hasContent("content");
    assertThat(MountTable.read().at(read).orElseThrow().superOptions()).contains("ro");
    node.unpublish(volume, "reader");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @ParameterizedTest
  @ValueSource(strings = {"journal", "snapshot"})
  void whoMirrorsAnImageKeepsNobodyFromStagingAndDeletingIt(String mode) {
    String pool = "mirrored-" + UUID.randomUUID();
    MirrorDaemon.makePool(CLUSTER, pool);
    Volume volume = driver.create(driver.createRequest(pool, 64 * MIB).putParameters("pool", pool));
    String spec = pool + "/" + TestDriver.image(volume);
    if (mode.equals("journal")) {
      CLUSTER.rbd("feature", "enable", spec, "journaling");
    }
    CLUSTER.rbd("mirror", "image", "enable", spec, mode);
    CLUSTER.rbd("mirror", "image", "demote", spec);
    assertStatus(
        Code.FAILED_PRECONDITION, "follows no primary", () -> driver.delete(volume.getVolumeId()));
    CLUSTER.rbd("mirror", "image", "promote", spec);
    try (MirrorDaemon daemon = new MirrorDaemon(CLUSTER, pool, TestDriver.image(volume))) {
      node.stage(volume, writer("ext4"));
      assertStatus(Code.FAILED_PRECONDITION, "in use", () -> driver.delete(volume.getVolumeId()));
      node.unstage(volume);
      driver.delete(volume.getVolumeId());
      assertThat(daemon.heard()).isNotEmpty();
    }
    assertThat(CLUSTER.rbd("ls", pool)).isBlank();
    CLUSTER.ceph("osd", "pool", "rm", pool, pool, "--yes-i-really-really-mean-it");
  }

  @ParameterizedTest
  @ValueSource(strings = {"ext4", "xfs"})
  void aMountOptionMayForbidWriting(String fsType) {
    VolumeCapability use = mounted(fsType, Mode.SINGLE_NODE_WRITER, "noatime,ro");
    Volume volume = create(512 * MIB);
    node.stage(volume, use);
    grow(volume, 600 * MIB);
    for (int i = 0; i < 2; i++) {
      node.stage(volume, use);
      node.publish(volume, use, "pod");
    }
    assertThat(MountTable.read().at(node.target(volume, "pod")).orElseThrow().options())
        .contains("ro", "noatime");
    assertStatus(Code.ALREADY_EXISTS, () -> node.stage(volume, writer(fsType)));
    assertThat(node.stats(volume, "pod").getVolumeCondition().getAbnormal()).isFalse();
    node.unpublish(volume, "pod");
    node.unstage(volume);
    node.stage(volume, use);
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  /** What the kernel does to ext4 with errors=remount-ro. */
  @Test
  void aFileSystemThatTheKernelStoppedIsTold() {
    Volume volume = create(64 * MIB);
    node.stage(volume, writer("ext4"));
    node.publish(volume, writer("ext4"), "pod");
    String place = node.staging(volume).resolve(volume.getVolumeId()).toString();
    Commands.run(List.of("mount", "-o", "remount,ro", place));
    Commands.run(List.of("mount", "-o", "remount,bind,rw", place));
    assertStatus(Code.UNAVAILABLE, "after an error", () -> node.stage(volume, writer("ext4")));
    assertThat(node.stats(volume, "pod").getVolumeCondition().getAbnormal()).isTrue();
    node.unpublish(volume, "pod");
    node.unstage(volume);
    node.stage(volume, writer("ext4"));
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  private static void assertRefusesWrites(Path device) {
    assertThat(writeTo(device).exitCode()).isNotZero();
    Commands.run(List.of("dd", "if=" + device, "of=/dev/null", "bs=4k", "count=1"));
  }

  @Test
  void aBlockVolumeWhoseAccessModeOnlyReadsRefusesWrites() {
    Volume volume = create(64 * MIB);
    VolumeCapability use = block(Mode.SINGLE_NODE_READER_ONLY);
    node.stage(volume, use);
    assertRefusesWrites(node.publish(volume, use, "pod"));
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @Test
  void aDeviceThatIsLeftForAnotherAccessModeIsReplaced() throws IOException {
    Volume volume = create(64 * MIB);
    VolumeCapability use = block(Mode.SINGLE_NODE_READER_ONLY);
    VolumeCapability writer = block(Mode.SINGLE_NODE_WRITER);
    VolumeCapability unfit = mounted("ext4", Mode.SINGLE_NODE_READER_ONLY);
    leaveAttached(volume, writer);
    assertStatus(Code.FAILED_PRECONDITION, "no file system", () -> node.stage(volume, unfit));
    assertNothingIsLeft(volume);
    leaveAttached(volume, writer);
    node.stage(volume, use);
    assertRefusesWrites(node.publish(volume, use, "pod"));
    node.remove(volume);
    leaveAttached(volume, use);
    node.stage(volume, writer);
    Command.Result written = writeTo(node.publish(volume, writer, "pod"));
    assertThat(written.exitCode()).as(written.said()).isZero();
    Mounts.unmountAll(place(volume));
    Files.delete(node.staging(volume).resolve("image-meta.json"));
    assertStatus(Code.FAILED_PRECONDITION, "still in use", () -> node.stage(volume, use));
    assertThat(node.staging(volume).resolve("image-meta.json")).doesNotExist();
    node.stage(volume, writer);
    node.remove(volume);
    assertNothingIsLeft(volume);
  }

  /** As when it was unmounted by others and its file was lost. */
  private void leaveAttached(Volume volume, VolumeCapability use) throws IOException {
    node.stage(volume, use);
    Mounts.unmountAll(place(volume));
    Files.delete(node.staging(volume).resolve("image-meta.json"));
  }

  /** The device is the same for all targets: what one of them may, the container runtime says. */
  @Test
  void aBlockVolumeThatOthersWriteToTellsWhichTargetOnlyReads() {
    Volume volume = create(64 * MIB);
    VolumeCapability use = block(Mode.SINGLE_NODE_WRITER);
    node.stage(volume, use);
    publishToRead(volume, use);
    publishToRead(volume, use);
    Mount reader = MountTable.read().at(node.target(volume, "reader")).orElseThrow();
    assertThat(reader.options()).contains("ro");
    assertStatus(Code.ALREADY_EXISTS, () -> node.publish(volume, use, "reader"));
    Path writer = node.publish(volume, use, "writer");
    Command.Result written = writeTo(writer);
    assertThat(written.exitCode()).as(written.said()).isZero();
    node.unpublish(volume, "writer");
    node.unpublish(volume, "reader");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @Test
  void theGroupOwnsTheVolume() throws IOException {
    Volume volume = create(64 * MIB);
    VolumeCapability.Builder use = writer("ext4").toBuilder();
    node.stage(volume, use.build());
    Path target = node.publish(volume, use.build(), "pod");
    Files.createDirectory(target.resolve("folder"));
    Files.writeString(target.resolve("folder/file"), "x");
    Files.createSymbolicLink(target.resolve("link"), Path.of("/etc/passwd"));
    node.unpublish(volume, "pod");
    node.unstage(volume);
    use.getMountBuilder().setVolumeMountGroup("4711");
    node.stage(volume, use.build());
    target = node.publish(volume, use.build(), "pod");
    for (String path : List.of("", "folder", "folder/file")) {
      assertThat(Files.getAttribute(target.resolve(path), "unix:gid")).isEqualTo(4711);
    }
    assertThat(
            PosixFilePermissions.toString(
                Files.getPosixFilePermissions(target.resolve("folder/file"))))
        .isEqualTo("rw-rw-r--");
    assertThat((Integer) Files.getAttribute(target.resolve("folder"), "unix:mode") & 02770)
        .isEqualTo(02770);
    assertThat(Files.getAttribute(Path.of("/etc/passwd"), "unix:gid")).isEqualTo(0);
  }

  @Test
  void eachPodsGroupGetsTheVolumeThatIsStagedAlready() throws IOException {
    Volume volume = create(64 * MIB);
    VolumeCapability.Builder use = writer("ext4").toBuilder();
    use.getMountBuilder().setVolumeMountGroup("4711");
    node.stage(volume, use.build());
    Path first = node.publish(volume, use.build(), "first");
    Files.writeString(first.resolve("file"), "x");
    use.getMountBuilder().setVolumeMountGroup("4712");
    Path second = node.publish(volume, use.build(), "second");
    for (Path path : List.of(second, second.resolve("file"))) {
      assertThat(Files.getAttribute(path, "unix:gid")).isEqualTo(4712);
    }
    use.getMountBuilder().setVolumeMountGroup("4713");
    var reader =
        node.stub()
            .nodePublishVolume(
                node.publishRequest(volume, use.build(), "reader").setReadonly(true).build());
    assertThat(reader).isNotNull();
    assertThat(Files.getAttribute(second, "unix:gid")).isEqualTo(4712);
    List.of("first", "second", "reader").forEach(pod -> node.unpublish(volume, pod));
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  /** Such as by a driver that was restarted before all files had their group. */
  @Test
  void aStagedVolumeThatCannotBeGivenToItsGroupIsToBeUnstaged() throws IOException {
    Volume volume = create(64 * MIB);
    VolumeCapability.Builder use = writer("ext4").toBuilder();
    node.stage(volume, use.build());
    Path file = Files.createFile(place(volume).resolve("file"));
    Commands.run(List.of("chattr", "+i", file.toString()));
    use.getMountBuilder().setVolumeMountGroup("4711");
    assertStatus(Code.UNAVAILABLE, "group 4711", () -> node.stage(volume, use.build()));
    assertThat(file).exists();
    node.unstage(volume);
    assertStatus(Code.FAILED_PRECONDITION, "group 4711", () -> node.stage(volume, use.build()));
    assertNothingIsLeft(volume);
  }

  @Test
  void filesThatComeAndGoMeanwhileDoNotKeepTheVolumeFromItsGroup() throws Exception {
    Volume volume = create(64 * MIB);
    VolumeCapability.Builder use = writer("ext4").toBuilder();
    node.stage(volume, use.build());
    Path target = node.publish(volume, use.build(), "pod");
    AtomicBoolean enough = new AtomicBoolean();
    CompletableFuture<Void> workload =
        CompletableFuture.runAsync(() -> comeAndGo(target.resolve("folders"), enough));
    try {
      for (int group = 4711; group < 4731; group++) {
        use.getMountBuilder().setVolumeMountGroup(Integer.toString(group));
        node.stage(volume, use.build());
        assertThat(Files.getAttribute(target, "unix:gid")).isEqualTo(group);
      }
    } finally {
      enough.set(true);
      workload.join();
    }
  }

  private static void comeAndGo(Path top, AtomicBoolean enough) {
    try {
      while (!enough.get()) {
        for (int i = 0; i < 100; i++) {
          Files.createFile(Files.createDirectories(top.resolve("folder" + i)).resolve("file"));
        }
        for (int i = 0; i < 100; i++) {
          Files.delete(top.resolve("folder" + i).resolve("file"));
          Files.delete(top.resolve("folder" + i));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
