package io.cephcsi.driver.node.rbd;

import static io.cephcsi.driver.testing.NodeClient.block;
import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.LoopDevices;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsResponse;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.Commands;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** The process that serves a device of an RBD volume: another one, or one that died. */
public class NodeRbdServerIT extends NodeRbdCase {
  /** It was there before the volume is staged, and so comes first. */
  @Test
  void aPodThatCallsItselfTheServerOfAVolumeIsLeftAloneAndNotAsked() throws Exception {
    assumeTrue(NodeClient.mounter().equals("fuse"));
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
    assumeTrue(NodeClient.mounter().equals("fuse"));
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
    assumeTrue(NodeClient.mounter().equals("fuse"));
    VolumeCapability use = block(Mode.SINGLE_NODE_WRITER);
    Volume volume = create(64 * MIB);
    node.stage(volume, use);
    Path target = node.publish(volume, use, "pod");
    BlockDevice device = BlockDevice.require(target);
    node.daemons().forEach(ProcessHandle::destroyForcibly);
    Awaitility.await().until(() -> node.daemons().isEmpty());
    forgetWatchers(volume);
    assertStatus(Code.UNAVAILABLE, "unpublish", () -> node.stage(volume, use));
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
    assumeTrue(NodeClient.mounter().equals("fuse"));
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
    volumes.forEach(NodeRbdServerIT::forgetWatchers);
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
    assertStatus(Code.UNAVAILABLE, "unpublish", () -> node.stage(volume, use));
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
}
