package io.cephcsi.driver.node.rbd;

import static io.cephcsi.driver.testing.NodeClient.block;
import static io.cephcsi.driver.testing.NodeClient.mounted;
import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceResponse;
import io.cephcsi.proto.csi.v1.NodeExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsRequest;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsResponse;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.Commands;
import io.grpc.Status.Code;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** RBD volumes on this machine: staged, published, trimmed, taken away again. */
public class NodeRbdIT extends NodeRbdCase {
  private static final int SIDE_BY_SIDE = Integer.getInteger("ceph.csi.sideBySide", 12);

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

  /** mke2fs gives small ones blocks of 1 KiB, whose groups begin inside objects. */
  @Test
  void deletedFilesOfASmallExt4GiveBackWholeObjects() throws IOException {
    Volume volume = create(256 * MIB);
    node.stage(volume, writer("ext4"));
    Path target = node.publish(volume, writer("ext4"), "pod");
    write(target.resolve("data"), 100);
    Files.delete(target.resolve("data"));
    NodeReclaimSpaceResponse answer = node.reclaim(node.reclaimRequest(volume).build());
    assertThat(answer.getPreUsage().getUsageBytes()).isGreaterThanOrEqualTo(100 * MIB);
    assertThat(answer.getPostUsage().getUsageBytes()).isLessThanOrEqualTo(32 * MIB);
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
    Path staged = node.staging(volume).resolve(volume.getVolumeId());
    for (Path each : List.of(staged, target)) { // else systemd stops the network first
      assertThat(Files.readAllLines(Path.of("/run/mount/utab")))
          .anyMatch(line -> line.contains(" TARGET=" + each + " ") && line.contains("_netdev"));
    }
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

  @Test
  void podsOfOneVolumeBeginAndEndAtOnce() {
    Volume volume = create(64 * MIB);
    node.stage(volume, writer("ext4"));
    List<String> pods = IntStream.range(0, 20).mapToObj(i -> "pod-" + i).toList();
    ExecutorService threads = Executors.newFixedThreadPool(pods.size());
    try {
      atOnce(threads, pods, pod -> node.publish(volume, writer("ext4"), pod));
      for (String pod : pods) {
        assertThat(node.target(volume, pod).resolve("lost+found")).exists();
      }
      atOnce(threads, pods, pod -> node.unpublish(volume, pod));
    } finally {
      threads.shutdownNow();
    }
    node.unstage(volume);
    assertNothingIsLeft(volume);
  }

  private static void atOnce(Executor threads, List<String> pods, Consumer<String> call) {
    pods.stream()
        .map(pod -> CompletableFuture.runAsync(() -> call.accept(pod), threads))
        .toList()
        .forEach(CompletableFuture::join);
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
