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
import io.cephcsi.driver.node.attach.AttachedDevice;
import io.cephcsi.driver.node.attach.FuseAttacher;
import io.cephcsi.driver.node.attach.HalfRefreshed;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.LoopDevices;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceResponse;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsRequest;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsResponse;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.proto.csi.v1.VolumeUsage;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** RBD volumes on this machine: real devices, file systems and mounts. Needs root. */
public class NodeRbdIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final int SIDE_BY_SIDE = Integer.getInteger("ceph.csi.sideBySide", 12);

  private static TestDriver driver;
  private NodeClient node;
  private final List<Volume> volumes = new ArrayList<>();

  @BeforeAll
  static void start() {
    driver = TestDriver.startWithCredentials(CLUSTER, "node-" + UUID.randomUUID());
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
  void cleanUp() {
    volumes.forEach(node::remove);
    node.close();
    volumes.forEach(this::deleteInTime);
  }

  /** A process that was killed is a watcher for half a minute more. */
  private void deleteInTime(Volume volume) {
    Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
        .untilAsserted(() -> driver.delete(volume.getVolumeId()));
  }

  private Volume create(long bytes) {
    Volume volume = driver.create("pvc-" + UUID.randomUUID(), bytes);
    volumes.add(volume);
    return volume;
  }

  private static VolumeCapability writer(String fsType) {
    return mounted(fsType, Mode.SINGLE_NODE_WRITER);
  }

  private void assertNothingIsLeft(Volume volume) {
    assertThat(node.leftovers()).isEmpty();
    assertThat(node.files("staging")).isEmpty();
    assertThat(node.files("pods")).isEmpty();
    assertThat(node.files("node")).isEmpty();
    assertThat(CLUSTER.rbd("status", CLUSTER.pool() + "/" + TestDriver.image(volume)))
        .contains("Watchers: none");
  }

  private static void write(Path file, int mib) throws IOException {
    byte[] data = new byte[(int) MIB];
    Random random = new Random(mib);
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      for (int i = 0; i < mib; i++) {
        random.nextBytes(data);
        channel.write(ByteBuffer.wrap(data));
      }
      channel.force(true);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"ext4", "xfs"})
  void deletedFilesGiveTheirSpaceBack(String fsType) throws IOException {
    Volume volume = create(1024 * MIB);
    node.stage(volume, writer(fsType));
    Path target = node.publish(volume, writer(fsType), "pod");
    long empty = node.reclaim(node.reclaimRequest(volume).build()).getPostUsage().getUsageBytes();
    write(target.resolve("data"), 300);
    Files.delete(target.resolve("data"));
    NodeReclaimSpaceResponse answer = node.reclaim(node.reclaimRequest(volume).build());
    long before = answer.getPreUsage().getUsageBytes();
    long after = answer.getPostUsage().getUsageBytes();
    assertThat(before - empty).isGreaterThanOrEqualTo(285 * MIB);
    System.out.printf(
        "%s: %d MiB empty, %d MiB before, %d MiB after%n",
        fsType, empty / MIB, before / MIB, after / MIB);
    assertThat(before - after).isGreaterThanOrEqualTo(285 * MIB); // 95 % of what was deleted
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @ParameterizedTest
  @ValueSource(strings = {"ext4", "xfs"})
  void everyCallMayBeRepeated(String fsType) throws IOException {
    Volume volume = create(512 * MIB);
    for (int i = 0; i < 2; i++) {
      node.stage(volume, writer(fsType));
    }
    assertThat(node.staging(volume).resolve("image-meta.json"))
        .content()
        .contains(TestDriver.image(volume))
        .doesNotContain(driver.secrets().get("userKey"));
    Path target = null;
    for (int i = 0; i < 2; i++) {
      target = node.publish(volume, writer(fsType), "pod");
    }
    assertThat(
            MountTable.read().all().stream()
                .filter(m -> m.target().equals(node.target(volume, "pod"))))
        .hasSize(1);
    Files.writeString(target.resolve("file"), "kept");
    for (int i = 0; i < 2; i++) {
      node.unpublish(volume, "pod");
    }
    assertThat(target).doesNotExist();
    for (int i = 0; i < 2; i++) {
      node.unstage(volume);
    }
    assertNothingIsLeft(volume);
    node.stage(volume, writer(""));
    target = node.publish(volume, writer(""), "other");
    assertThat(target.resolve("file")).hasContent("kept"); // it was not formatted again
    node.unpublish(volume, "other");
    node.unstage(volume);
  }

  @Test
  void aBlockVolumeIsABlockDevice() throws IOException {
    Volume volume = create(64 * MIB);
    VolumeCapability use = block(Mode.SINGLE_NODE_WRITER);
    node.stage(volume, use);
    node.stage(volume, use);
    Path target = node.publish(volume, use, "pod");
    BlockDevice device = BlockDevice.require(target);
    assertThat(device.size()).isEqualTo(64 * MIB);
    Commands.run(
        List.of("dd", "if=/dev/urandom", "of=" + target, "bs=1M", "count=8", "oflag=direct"));
    NodeGetVolumeStatsResponse stats = node.stats(volume, "pod");
    assertThat(stats.getUsage(0).getTotal()).isEqualTo(64 * MIB);
    assertThat(stats.getUsage(0).getUsed()).isEqualTo(8 * MIB);
    assertThat(stats.getVolumeCondition().getAbnormal()).isFalse();
    assertStatus(
        Code.UNIMPLEMENTED,
        "block device",
        () -> node.reclaim(node.reclaimRequest(volume).build()));
    grow(volume, 128 * MIB);
    assertThat(node.expand(volume, "pod").getCapacityBytes()).isEqualTo(128 * MIB);
    assertThat(device.size()).isEqualTo(128 * MIB);
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  /** Such as by a call that read the size before the image grew once more. */
  @Test
  void whoGrowsTheDeviceToASizeOfBeforeDoesNotShrinkTheImage() throws IOException {
    assumeTrue(NodeClient.MOUNTER.equals("fuse"));
    Volume volume = create(64 * MIB);
    VolumeCapability use = block(Mode.SINGLE_NODE_WRITER);
    node.stage(volume, use);
    Path target = node.publish(volume, use, "pod");
    Path fuse = node.folder().resolve("node/fuse");
    FuseAttacher attacher = new FuseAttacher(fuse);
    AttachedDevice device = attacher.list().get(0);
    CompletableFuture<Command.Result> writing =
        CompletableFuture.supplyAsync(
            () ->
                Command.of("dd", "if=/dev/urandom", "bs=64k", "count=1000")
                    .with(Argument.of("target", "of=" + target))
                    .with("oflag=direct", "conv=notrunc")
                    .within(Duration.ofMinutes(5))
                    .tryRun());
    for (int round = 1; round <= 3; round++) {
      long size = (64 + 64 * round) * MIB;
      grow(volume, size);
      attacher.grow(device, size - 32 * MIB);
      assertThat(BlockDevice.require(target).size()).isEqualTo(size);
    }
    assertThat(writing.join().exitCode()).as(writing.join().said()).isZero();
    assertThat(CLUSTER.rbd("info", CLUSTER.pool() + "/" + TestDriver.image(volume)))
        .contains("size 256 MiB");
    leaveHalfRefreshed(volume, attacher, fuse);
    grow(volume, 512 * MIB);
    assertThat(node.expand(volume, "pod").getCapacityBytes()).isEqualTo(512 * MIB);
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  /** A call was killed when it had opened the image once more, and no further. */
  private static void leaveHalfRefreshed(Volume volume, FuseAttacher attacher, Path fuse) {
    Path folder = LoopDevices.fileOf(attacher.list().get(0).device()).orElseThrow().getParent();
    assertThat(folder).hasParent(fuse);
    HalfRefreshed.leave(folder, CLUSTER, TestDriver.image(volume));
  }

  /** It was there before the volume is staged, and so comes first. */
  @Test
  void aPodThatCallsItselfTheServerOfAVolumeIsLeftAloneAndNotAsked() throws Exception {
    assumeTrue(NodeClient.MOUNTER.equals("fuse"));
    Volume volume = create(64 * MIB);
    VolumeCapability use = block(Mode.SINGLE_NODE_WRITER);
    node.stage(volume, use);
    Path file = LoopDevices.fileOf(staged(volume)).orElseThrow();
    node.unstage(volume);
    String script = "exec -a qemu-storage-daemon bash -c 'read; exit' - \"$@\"";
    Process pod =
        new ProcessBuilder(
                List.of(
                    "unshare",
                    "--pid",
                    "--fork",
                    "--kill-child",
                    "--mount-proc", //
                    "bash",
                    "-c",
                    script,
                    "-",
                    "{\"node-name\":\"image\",\"driver\":\"host_device\",\"filename\":\"/dev/sda\"}",
                    "{\"node-name\":\"shown\"}",
                    "mountpoint=" + file))
            .start();
    try {
      Awaitility.await().until(() -> node.daemons().size() == 1);
      node.stage(volume, use);
      node.publish(volume, use, "pod");
      grow(volume, 128 * MIB);
      assertThat(node.expand(volume, "pod").getCapacityBytes()).isEqualTo(128 * MIB);
      assertThat(node.stats(volume, "pod").getVolumeCondition().getAbnormal()).isFalse();
      node.unpublish(volume, "pod");
      node.unstage(volume);
      assertThat(pod.isAlive()).isTrue();
    } finally {
      pod.destroyForcibly().waitFor();
    }
    Awaitility.await().until(() -> node.daemons().isEmpty());
    assertNothingIsLeft(volume);
  }

  @Test
  void aVolumeThatAnOlderVersionAttachedGrowsWhenItIsStagedAgain() throws IOException {
    assumeTrue(NodeClient.MOUNTER.equals("fuse"));
    Volume volume = create(64 * MIB);
    VolumeCapability use = block(Mode.SINGLE_NODE_WRITER);
    node.stage(volume, use);
    node.publish(volume, use, "pod");
    Path spec = LoopDevices.fileOf(staged(volume)).orElseThrow().resolveSibling("spec");
    Files.write(spec, Files.readAllLines(spec).subList(0, 4));
    grow(volume, 128 * MIB);
    assertStatus(Code.FAILED_PRECONDITION, "staged again", () -> node.expand(volume, "pod"));
    node.unpublish(volume, "pod");
    node.unstage(volume);
    node.stage(volume, use);
    node.publish(volume, use, "pod");
    assertThat(node.expand(volume, "pod").getCapacityBytes()).isEqualTo(128 * MIB);
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @SuppressWarnings("CheckReturnValue")
  private static void grow(Volume volume, long bytes) {
    driver
        .controller()
        .controllerExpandVolume(
            ControllerExpandVolumeRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(bytes))
                .putAllSecrets(driver.secrets())
                .build());
  }

  @Test
  void whatAnotherVolumeShowsIsNotTakenForThis() {
    Volume volume = create(128 * MIB);
    Volume larger = create(256 * MIB);
    for (Volume each : List.of(volume, larger)) {
      node.stage(each, writer(""));
      node.publish(each, writer(""), "pod");
    }
    String path = node.target(volume, "pod").toString();
    String id = larger.getVolumeId();
    NodeExpandVolumeRequest.Builder crossed =
        NodeExpandVolumeRequest.newBuilder().setVolumeId(id).setVolumePath(path);
    assertStatus(Code.NOT_FOUND, () -> node.stub().nodeExpandVolume(crossed.build()));
    assertStatus(
        Code.NOT_FOUND,
        () ->
            node.stub()
                .nodeGetVolumeStats(
                    NodeGetVolumeStatsRequest.newBuilder()
                        .setVolumeId(id)
                        .setVolumePath(path)
                        .build()));
    assertStatus(
        Code.NOT_FOUND,
        () ->
            node.reclaim(
                NodeReclaimSpaceRequest.newBuilder().setVolumeId(id).setVolumePath(path).build()));
    assertThat(BlockDevice.require(MountTable.read().at(Path.of(path)).orElseThrow().blockDevice()))
        .extracting(BlockDevice::size)
        .isEqualTo(128 * MIB);
    assertThat(bytes(volume)).isLessThan(bytes(larger));
  }

  private long bytes(Volume volume) {
    VolumeUsage usage = node.stats(volume, "pod").getUsage(0);
    assertThat(usage.getUnit()).isEqualTo(VolumeUsage.Unit.BYTES);
    assertThat(usage.getAvailable()).isBetween(1L, usage.getTotal());
    return usage.getTotal();
  }

  @Test
  void xfsGrowsWhileItIsMounted() {
    Volume volume = create(512 * MIB);
    node.stage(volume, writer("xfs"));
    node.publish(volume, writer("xfs"), "pod");
    assertThat(bytes(volume)).isLessThan(512 * MIB);
    grow(volume, 1024 * MIB);
    assertThat(node.expand(volume, "pod").getCapacityBytes()).isEqualTo(1024 * MIB);
    assertThat(node.expand(volume, "pod").getCapacityBytes()).isEqualTo(1024 * MIB);
    assertThat(bytes(volume)).isGreaterThan(900 * MIB);
  }

  /** The kernel lets only those with CAP_SYS_RESOURCE grow a mounted ext4, unlike others. */
  @Test
  void ext4GrowsWhileItIsMountedOrAtTheNextStaging() throws IOException {
    Volume volume = create(256 * MIB);
    node.stage(volume, writer("ext4"));
    node.publish(volume, writer("ext4"), "pod");
    grow(volume, 1024 * MIB);
    if (mayGrowExt4()) {
      assertThat(node.expand(volume, "pod").getCapacityBytes()).isEqualTo(1024 * MIB);
      assertThat(bytes(volume)).isGreaterThan(900 * MIB);
      grow(volume, 1536 * MIB);
    } else {
      assertStatus(Code.INTERNAL, "resize2fs", () -> node.expand(volume, "pod"));
    }
    node.unpublish(volume, "pod");
    node.unstage(volume);
    node.stage(volume, writer("ext4"));
    node.publish(volume, writer("ext4"), "pod");
    assertThat(bytes(volume)).isGreaterThan((mayGrowExt4() ? 1400 : 900) * MIB);
  }

  private static boolean mayGrowExt4() throws IOException {
    String line =
        Files.readAllLines(Path.of("/proc/self/status")).stream()
            .filter(l -> l.startsWith("CapEff:"))
            .findFirst()
            .orElseThrow();
    return (Long.parseUnsignedLong(line.substring(7).strip(), 16) & 1L << 24) != 0;
  }

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
        .doesNotContain(FileSystemSetup.FORMATTING);
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

  private Set<String> superOptions(Volume volume, VolumeCapability use) {
    node.stage(volume, use);
    Set<String> options = MountTable.read().at(place(volume)).orElseThrow().superOptions();
    node.unstage(volume);
    return options;
  }

  private void publishToRead(Volume volume, VolumeCapability use) {
    assertThat(
            node.stub()
                .nodePublishVolume(
                    node.publishRequest(volume, use, "reader").setReadonly(true).build()))
        .isNotNull();
  }

  private static Command.Result writeTo(Path device) {
    return Command.of("dd", "if=/dev/zero", "bs=4k", "count=1", "oflag=direct")
        .with(Argument.of("device", "of=" + device))
        .tryRun();
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

  @Test
  void aVolumeIsPublishedAsItIsStaged() {
    Volume volume = create(64 * MIB);
    VolumeCapability raw = block(Mode.SINGLE_NODE_WRITER);
    VolumeCapability reader = mounted("ext4", Mode.SINGLE_NODE_READER_ONLY);
    node.stage(volume, writer("ext4"));
    assertStatus(Code.FAILED_PRECONDITION, "a file system", () -> node.publish(volume, raw, "pod"));
    assertStatus(
        Code.FAILED_PRECONDITION, "with ext4", () -> node.publish(volume, writer("xfs"), "pod"));
    assertThat(node.target(volume, "pod")).doesNotExist();
    node.publish(volume, writer("ext4"), "pod");
    node.publish(volume, writer(""), "pod");
    assertStatus(Code.ALREADY_EXISTS, "a file system", () -> node.publish(volume, raw, "pod"));
    assertStatus(
        Code.ALREADY_EXISTS, "with ext4", () -> node.publish(volume, writer("xfs"), "pod"));
    node.remove(volume);
    node.stage(volume, reader);
    assertStatus(
        Code.FAILED_PRECONDITION, "reading", () -> node.publish(volume, writer("ext4"), "pod"));
    publishToRead(volume, writer("ext4"));
    node.remove(volume);
    node.stage(volume, raw);
    assertStatus(
        Code.FAILED_PRECONDITION, "a block", () -> node.publish(volume, writer("ext4"), "pod"));
    node.unstage(volume);
    node.stage(volume, block(Mode.SINGLE_NODE_READER_ONLY));
    assertStatus(Code.FAILED_PRECONDITION, "reading", () -> node.publish(volume, raw, "pod"));
    node.unstage(volume);
    assertNothingIsLeft(volume);
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
  void aPublishedVolumeThatIsUnmountedAtItsPlaceIsStagedAgain() throws IOException {
    Volume volume = create(64 * MIB);
    node.stage(volume, writer("ext4"));
    Path target = node.publish(volume, writer("ext4"), "pod");
    Files.writeString(target.resolve("file"), "kept");
    Mounts.unmountAll(place(volume));
    node.stage(volume, writer("ext4"));
    assertThat(place(volume).resolve("file")).hasContent("kept");
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @Test
  void whatOthersMountedAtATargetIsLeftAlone() throws IOException {
    Volume volume = create(64 * MIB);
    node.stage(volume, writer("ext4"));
    Path target = Files.createDirectories(node.target(volume, "pod"));
    Mounts.mount("tmpfs", "theirs", target, List.of("size=1m"));
    Files.writeString(target.resolve("file"), "theirs");
    assertStatus(
        Code.ALREADY_EXISTS, "something else", () -> node.publish(volume, writer("ext4"), "pod"));
    assertStatus(Code.FAILED_PRECONDITION, "theirs", () -> node.unpublish(volume, "pod"));
    assertThat(target.resolve("file")).hasContent("theirs");
    Mounts.unmountAll(target);
  }

  @Test
  void aDamagedFileBesideAStagedVolumeIsNeitherFollowedNorReplaced() throws IOException {
    Volume volume = create(64 * MIB);
    Path file = Files.createDirectories(node.staging(volume)).resolve("image-meta.json");
    for (String content : List.of("", "{", "{\"pool\":\"other\",\"image\":\"theirs\"}")) {
      Files.writeString(file, content);
      assertStatus(Code.FAILED_PRECONDITION, () -> node.stage(volume, writer("ext4")));
      assertThat(file).hasContent(content);
    }
    Files.writeString(file, "{");
    assertStatus(Code.FAILED_PRECONDITION, () -> node.unstage(volume));
    assertThat(file).hasContent("{");
    Files.delete(file);
    Path fresh = Files.createSymbolicLink(file.resolveSibling("image-meta.json.new"), file);
    node.stage(volume, writer("ext4"));
    assertThat(fresh).doesNotExist();
    String ours = Files.readString(file);
    Files.writeString(file, ours.replace(TestDriver.image(volume), "theirs"));
    assertStatus(
        Code.FAILED_PRECONDITION, "theirs", () -> node.publish(volume, writer("ext4"), "pod"));
    Files.writeString(file, ours);
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @Test
  void aSingleWriterHasOneTarget() {
    Volume volume = create(64 * MIB);
    VolumeCapability single = mounted("ext4", Mode.SINGLE_NODE_SINGLE_WRITER);
    node.stage(volume, single);
    node.publish(volume, single, "one");
    assertStatus(
        Code.FAILED_PRECONDITION, "published once", () -> node.publish(volume, single, "two"));
    node.publish(volume, single, "one");
    node.unpublish(volume, "one");
    node.publish(volume, single, "two");
    assertStatus(Code.FAILED_PRECONDITION, "still published", () -> node.unstage(volume));
    node.unpublish(volume, "two");
    node.unstage(volume);
    VolumeCapability multi = mounted("ext4", Mode.SINGLE_NODE_MULTI_WRITER);
    node.stage(volume, multi);
    node.publish(volume, multi, "one");
    node.publish(volume, multi, "two");
    node.unpublish(volume, "one");
    node.unpublish(volume, "two");
    node.unstage(volume);
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

  @Test
  void aVolumeInUseElsewhereIsNotStaged() {
    Volume volume = create(64 * MIB);
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage image = new RbdPool(io).open(TestDriver.image(volume))) {
      assertThat(image.watchers()).hasSize(1);
      assertStatus(Code.FAILED_PRECONDITION, "in use", () -> node.stage(volume, writer("ext4")));
    }
    node.stage(volume, writer("ext4"));
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @Test
  void aVolumeWhoseServerDiedIsStagedAnew() throws IOException {
    assumeTrue(NodeClient.MOUNTER.equals("fuse"));
    Volume volume = create(128 * MIB);
    node.stage(volume, writer("ext4"));
    Path target = node.publish(volume, writer("ext4"), "pod");
    try (OutputStream out = Files.newOutputStream(target.resolve("file"))) {
      out.write(65);
    }
    Commands.run(List.of("sync", "-f", target.toString()));
    node.daemons().forEach(ProcessHandle::destroyForcibly);
    Awaitility.await().until(() -> node.daemons().isEmpty());
    NodeGetVolumeStatsResponse stats = node.stats(volume, "pod");
    assertThat(stats.getVolumeCondition().getAbnormal()).isTrue();
    assertStatus(
        Code.UNAVAILABLE, "not served", () -> node.reclaim(node.reclaimRequest(volume).build()));
    assertStatus(
        Code.FAILED_PRECONDITION,
        "stage it again",
        () -> node.publish(volume, writer("ext4"), "pod"));
    // The one that was killed counts as a watcher until the cluster has given it up.
    Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
        .untilAsserted(() -> node.stage(volume, writer("ext4")));
    node.publish(volume, writer("ext4"), "pod");
    assertThat(target.resolve("file")).hasContent("A");
    assertThat(node.stats(volume, "pod").getVolumeCondition().getAbnormal()).isFalse();
    node.unpublish(volume, "pod");
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  /** A bind of a device does not keep its number: another volume must not get it meanwhile. */
  @Test
  void aPublishedDeviceWhoseServerDiedIsGivenToNoOtherVolume() {
    assumeTrue(NodeClient.MOUNTER.equals("fuse"));
    VolumeCapability use = block(Mode.SINGLE_NODE_WRITER);
    Volume volume = create(64 * MIB);
    node.stage(volume, use);
    Path target = node.publish(volume, use, "pod");
    BlockDevice device = BlockDevice.require(target);
    node.daemons().forEach(ProcessHandle::destroyForcibly);
    Awaitility.await().until(() -> node.daemons().isEmpty());
    forgetWatchers(volume);
    assertStatus(Code.FAILED_PRECONDITION, "unpublish", () -> node.stage(volume, use));
    Volume other = create(64 * MIB);
    node.stage(other, use);
    Path written = node.publish(other, use, "pod");
    assertThat(BlockDevice.require(written).number()).isNotEqualTo(device.number());
    assertThat(writeTo(target).exitCode()).isNotZero();
    node.unpublish(volume, "pod");
    node.stage(volume, use);
    Command.Result again = writeTo(node.publish(volume, use, "pod"));
    assertThat(again.exitCode()).as(again.said()).isZero();
    for (Volume each : volumes) {
      node.unpublish(each, "pod");
      node.unstage(each);
    }
    volumes.forEach(this::assertNothingIsLeft);
  }

  /** What a container leaves that ends: no process, no mount of its own, and no files. */
  @Test
  void theDevicesThatAnEndedContainerLeftAreTakenAway() throws IOException {
    assumeTrue(NodeClient.MOUNTER.equals("fuse"));
    VolumeCapability use = block(Mode.SINGLE_NODE_WRITER);
    Volume volume = create(64 * MIB);
    Volume other = create(64 * MIB);
    Volume unmounted = create(64 * MIB);
    node.stage(volume, use);
    node.stage(other, writer("ext4"));
    node.stage(unmounted, use);
    node.publish(volume, use, "pod");
    List<Path> lost = volumes.stream().map(this::staged).toList();
    node.daemons().forEach(ProcessHandle::destroyForcibly);
    Awaitility.await().until(() -> node.daemons().isEmpty());
    volumes.forEach(NodeRbdIT::forgetWatchers);
    for (Path device : lost) {
      Path file = LoopDevices.fileOf(device).orElseThrow();
      Mounts.forgetDead(file);
      try (Stream<Path> files = Files.list(file.getParent())) {
        for (Path left : files.toList()) {
          Files.delete(left);
        }
      }
      assertThat(LoopDevices.isLost(device)).isTrue();
    }
    assertStatus(Code.FAILED_PRECONDITION, "unpublish", () -> node.stage(volume, use));
    assertStatus(Code.FAILED_PRECONDITION, "unpublish", () -> node.unstage(volume));
    assertThat(LoopDevices.isLost(lost.get(0))).isTrue();
    Mounts.unmountAll(place(unmounted)); // by a call that was killed then
    node.unstage(unmounted);
    node.stage(other, writer("ext4"));
    node.unstage(other);
    node.unpublish(volume, "pod");
    node.unstage(volume);
    for (Path device : lost) {
      assertThat(LoopDevices.isLost(device)).isFalse(); // free, or another test's by now
    }
    volumes.forEach(this::assertNothingIsLeft);
  }

  private Path place(Volume volume) {
    return node.staging(volume).resolve(volume.getVolumeId());
  }

  private Path staged(Volume volume) {
    return MountTable.read().at(place(volume)).orElseThrow().blockDevice();
  }

  /** Lets the cluster forget a client that was killed, which it would wait for. */
  private static void forgetWatchers(Volume volume) {
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage image = new RbdPool(io).openReadOnly(TestDriver.image(volume))) {
      image
          .watchers()
          .forEach(watcher -> CLUSTER.ceph("osd", "blocklist", "add", watcher.address()));
    }
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
      image.metadata().set(FileSystemSetup.FORMATTING, FileSystemSetup.note("ext4", image.id()));
    }
    node.stage(volume, writer("ext4"));
    target = node.publish(volume, writer("ext4"), "pod");
    assertThat(target.resolve("file")).hasContent("kept");
    assertThat(CLUSTER.rbd("image-meta", "list", CLUSTER.pool() + "/" + TestDriver.image(volume)))
        .doesNotContain(FileSystemSetup.FORMATTING);
  }

  @Test
  void aDeviceThatKeepsTheLockForItselfIsFormatted() throws IOException {
    assumeTrue(NodeClient.MOUNTER.equals("rbd")); // only the kernel keeps it
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
      image.metadata().set(FileSystemSetup.FORMATTING, FileSystemSetup.note("ext4", image.id()));
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
      image.metadata().set(FileSystemSetup.FORMATTING, note);
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
        .doesNotContain(FileSystemSetup.FORMATTING);
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  @Test
  void manyVolumesSideBySide() {
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<CompletableFuture<Void>> all = new ArrayList<>();
      for (int i = 0; i < SIDE_BY_SIDE; i++) {
        Volume volume = create(64 * MIB);
        all.add(CompletableFuture.runAsync(() -> fillOne(volume), threads));
      }
      all.forEach(CompletableFuture::join);
      assertThat(node.daemons().size()).isIn(0, SIDE_BY_SIDE);
      all.clear();
      for (Volume volume : volumes) {
        all.add(CompletableFuture.runAsync(() -> emptyOne(volume), threads));
      }
      all.forEach(CompletableFuture::join);
    } finally {
      threads.shutdownNow();
    }
    volumes.forEach(this::assertNothingIsLeft);
  }

  private void fillOne(Volume volume) {
    node.stage(volume, writer("ext4"));
    Path target = node.publish(volume, writer("ext4"), "pod");
    try {
      Files.writeString(target.resolve("id"), volume.getVolumeId());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void emptyOne(Volume volume) {
    assertThat(node.target(volume, "pod").resolve("id")).hasContent(volume.getVolumeId());
    node.unpublish(volume, "pod");
    node.unstage(volume);
  }
}
