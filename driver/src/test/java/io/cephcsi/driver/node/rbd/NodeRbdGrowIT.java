package io.cephcsi.driver.node.rbd;

import static io.cephcsi.driver.testing.NodeClient.block;
import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.cephcsi.driver.node.attach.AttachedDevice;
import io.cephcsi.driver.node.attach.FuseAttacher;
import io.cephcsi.driver.node.attach.HalfRefreshed;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.LoopDevices;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.NodeExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** RBD volumes that grow while they are on this machine. */
public class NodeRbdGrowIT extends NodeRbdCase {
  /** Such as by a call that read the size before the image grew once more. */
  @Test
  void whoGrowsTheDeviceToASizeOfBeforeDoesNotShrinkTheImage() throws IOException {
    assumeTrue(NodeClient.mounter().equals("fuse"));
    Volume volume = create(64 * MIB);
    VolumeCapability use = block(Mode.SINGLE_NODE_WRITER);
    node.stage(volume, use);
    Path target = node.publish(volume, use, "pod");
    Path fuse = node.folder().resolve("node/fuse");
    FuseAttacher attacher = new FuseAttacher(fuse, ServerCgroup.none());
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

  @Test
  void aVolumeThatAnOlderVersionAttachedGrowsWhenItIsStagedAgain() throws IOException {
    assumeTrue(NodeClient.mounter().equals("fuse"));
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

  /** As in Kubernetes with a StorageClass that has no node-expand-secret. */
  @Test
  void aVolumeGrowsWithoutCredentialsToTheSizeOfTheRequest() {
    String instance = "grow-" + UUID.randomUUID();
    try (TestDriver other = TestDriver.rbd(CLUSTER).instance(instance).start();
        NodeClient there = other.node()) {
      Volume volume = other.create("pvc-" + UUID.randomUUID(), 64 * MIB);
      VolumeCapability use = block(Mode.SINGLE_NODE_WRITER);
      there.stage(volume, use);
      there.publish(volume, use, "pod");
      assertStatus(Code.UNAVAILABLE, () -> expandWithoutSecrets(there, volume, 128 * MIB));
      CLUSTER.rbd("resize", "--size", "128M", CLUSTER.pool() + "/" + TestDriver.image(volume));
      assertThat(expandWithoutSecrets(there, volume, 128 * MIB)).isEqualTo(128 * MIB);
      assertThat(expandWithoutSecrets(there, volume, 0)).isEqualTo(128 * MIB);
      there.unpublish(volume, "pod");
      there.unstage(volume);
      assertThat(there.leftovers()).isEmpty();
      other.delete(volume.getVolumeId());
    }
  }

  private static long expandWithoutSecrets(NodeClient node, Volume volume, long bytes) {
    return node.stub()
        .nodeExpandVolume(
            NodeExpandVolumeRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .setVolumePath(node.target(volume, "pod").toString())
                .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(bytes))
                .build())
        .getCapacityBytes();
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
      assertStatus(Code.FAILED_PRECONDITION, "CAP_SYS_RESOURCE", () -> node.expand(volume, "pod"));
    }
    node.unpublish(volume, "pod");
    node.unstage(volume);
    node.stage(volume, writer("ext4"));
    node.publish(volume, writer("ext4"), "pod");
    assertThat(bytes(volume)).isGreaterThan((mayGrowExt4() ? 1400 : 900) * MIB);
  }
}
