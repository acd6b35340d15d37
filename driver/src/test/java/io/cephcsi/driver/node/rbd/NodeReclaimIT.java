package io.cephcsi.driver.node.rbd;

import static io.cephcsi.driver.testing.NodeClient.mounted;
import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceResponse;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceResponse;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceNodeGrpc;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reclaim on a node with a rate, and a node that wants a volume while it is reclaimed. */
class NodeReclaimIT {
  private static final long MIB = 1L << 20;
  private static final long RATE = 32 * MIB;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final VolumeCapability USE = mounted("ext4", Mode.SINGLE_NODE_WRITER);
  private static final Map<String, String> SECRETS =
      TestDriver.secrets(CLUSTER, DriverConfig.Type.RBD);

  @TempDir private Path folder;
  private ServedProcess process;
  private io.grpc.Channel channel;
  private NodeClient node;
  private Volume volume;

  @BeforeEach
  void start() throws IOException {
    Path socket = folder.resolve("csi.sock");
    process =
        ServedProcess.start(
            folder,
            "--type=rbd",
            "--controllerserver",
            "--nodeserver",
            "--nodeid=" + TestDriver.NODE_ID,
            "--endpoint=unix://" + socket,
            "--node-folder=" + folder.resolve("node"),
            "--node-reclaim-rate=" + RATE,
            "--clusters-file=" + TestDriver.clustersFile(CLUSTER, folder));
    channel = process.awaitServing(socket);
    node = new NodeClient(channel, SECRETS, folder);
    volume =
        ControllerGrpc.newBlockingStub(channel)
            .createVolume(
                CreateVolumeRequest.newBuilder()
                    .setName("pvc-" + UUID.randomUUID())
                    .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(512 * MIB))
                    .addVolumeCapabilities(USE)
                    .putParameters("clusterID", TestDriver.CLUSTER_ID)
                    .putParameters("pool", CLUSTER.pool())
                    .putAllSecrets(SECRETS)
                    .build())
            .getVolume();
  }

  @AfterEach
  void stop() {
    node.remove(volume);
    assertThat(node.leftovers()).isEmpty();
    node.close();
    assertThat(
            ControllerGrpc.newBlockingStub(channel)
                .deleteVolume(
                    DeleteVolumeRequest.newBuilder()
                        .setVolumeId(volume.getVolumeId())
                        .putAllSecrets(SECRETS)
                        .build()))
        .isNotNull();
    process.close();
  }

  /** A volume on which 64 MiB were deleted. */
  private Path used() throws IOException {
    node.stage(volume, USE);
    Path target = node.publish(volume, USE, "pod");
    byte[] data = new byte[(int) (64 * MIB)];
    new Random(7).nextBytes(data);
    Files.write(target.resolve("deleted"), data);
    Files.writeString(target.resolve("kept"), "kept");
    Commands.run(List.of("sync", "-f", target.toString()));
    Files.delete(target.resolve("deleted"));
    return target;
  }

  private NodeReclaimSpaceResponse reclaim() {
    return node.reclaim(node.reclaimRequest(volume).build());
  }

  /** The reclaim that runs lasts for many seconds: this one must not come before it. */
  private void awaitTrimming() {
    Awaitility.await()
        .pollDelay(Duration.ofSeconds(1))
        .atMost(Duration.ofMinutes(1))
        .untilAsserted(
            () ->
                assertStatus(
                    Code.ABORTED,
                    text -> assertThat(text).contains("NodeReclaimSpace").contains("phase trim"),
                    this::reclaim));
  }

  @Test
  void itKeepsToItsRateAndTellsASecondCallerHowFarItIs() throws Exception {
    used();
    long began = System.nanoTime();
    CompletableFuture<NodeReclaimSpaceResponse> first =
        CompletableFuture.supplyAsync(this::reclaim);
    awaitTrimming();
    NodeReclaimSpaceResponse answer = first.get(2, TimeUnit.MINUTES);
    // All of the 400 MiB and more that are free were discarded, never more than the rate allows.
    assertThat(Duration.ofNanos(System.nanoTime() - began))
        .isGreaterThanOrEqualTo(Duration.ofSeconds(400 * MIB / RATE));
    assertThat(answer.getPreUsage().getUsageBytes() - answer.getPostUsage().getUsageBytes())
        .isGreaterThanOrEqualTo(60 * MIB);
  }

  @Test
  void aCallerThatGaveUpGetsTheResultByAskingAgain() throws IOException {
    used();
    assertStatus(
        Code.DEADLINE_EXCEEDED,
        () ->
            ReclaimSpaceNodeGrpc.newBlockingStub(channel)
                .withDeadlineAfter(1, TimeUnit.SECONDS)
                .nodeReclaimSpace(node.reclaimRequest(volume).build()));
    NodeReclaimSpaceResponse answer =
        Awaitility.await()
            .atMost(Duration.ofMinutes(2))
            .until(
                () -> {
                  try {
                    return reclaim();
                  } catch (StatusRuntimeException e) {
                    assertThat(e.getStatus().getCode()).isEqualTo(Code.ABORTED);
                    return null;
                  }
                },
                Objects::nonNull);
    // A second trim would have found nothing more to free.
    assertThat(answer.getPreUsage().getUsageBytes() - answer.getPostUsage().getUsageBytes())
        .isGreaterThanOrEqualTo(60 * MIB);
  }

  @Test
  void aVolumeThatIsThickOnPurposeIsNotTrimmed() throws IOException {
    used();
    CLUSTER.rbd(
        "image-meta",
        "set",
        CLUSTER.pool() + "/" + TestDriver.image(volume),
        "rbd.csi.ceph.com/thick-provisioned",
        "true");
    assertStatus(Code.UNIMPLEMENTED, "thick", this::reclaim);
  }

  @Test
  void itGivesWayToWhoeverUnstagesAndIsToBeTriedAgain() throws Exception {
    Path target = used();
    CompletableFuture<NodeReclaimSpaceResponse> first =
        CompletableFuture.supplyAsync(this::reclaim);
    awaitTrimming();
    node.unpublish(volume, "pod");
    node.unstage(volume);
    // With OK, who asked would take it for done: then nobody would come to free the rest.
    assertThatThrownBy(() -> first.get(1, TimeUnit.MINUTES))
        .hasMessageContaining("ABORTED")
        .hasMessageContaining("it is being unmounted; try again later");
    assertThat(process.output()).contains("gave way before the end");
    node.stage(volume, USE);
    node.publish(volume, USE, "pod");
    assertThat(target.resolve("kept")).hasContent("kept");
  }

  @Test
  void whatIsBelowATargetIsNotTrimmedWhenItIsUnmounted() throws IOException {
    Path target = used();
    NodeReclaimSpaceRequest atTarget =
        node.reclaimRequest(volume)
            .clearStagingTargetPath()
            .setVolumePath(target.toString())
            .build();
    CompletableFuture<NodeReclaimSpaceResponse> first =
        CompletableFuture.supplyAsync(() -> node.reclaim(atTarget));
    awaitTrimming();
    Mounts.unmountAll(target); // the folder stays, as between umount and rmdir
    assertThatThrownBy(() -> first.get(1, TimeUnit.MINUTES)).hasMessageContaining("ABORTED");
    node.publish(volume, USE, "pod");
    assertThat(target.resolve("kept")).hasContent("kept");
  }

  @Test
  void aVolumeThatIsReclaimedOfflineIsStagedAfterTheReclaimGaveWay() throws Exception {
    used();
    node.unpublish(volume, "pod");
    node.unstage(volume);
    CompletableFuture<ControllerReclaimSpaceResponse> offline =
        CompletableFuture.supplyAsync(
            () ->
                ReclaimSpaceControllerGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(3, TimeUnit.MINUTES)
                    .controllerReclaimSpace(
                        ControllerReclaimSpaceRequest.newBuilder()
                            .setVolumeId(volume.getVolumeId())
                            .putParameters("reclaim.maxBytesPerSecond", Long.toString(2 * MIB))
                            .putAllSecrets(SECRETS)
                            .build()));
    String image = CLUSTER.pool() + "/" + TestDriver.image(volume);
    Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> CLUSTER.rbd("status", image).contains("watcher="));
    node.stage(volume, USE);
    Path target = node.publish(volume, USE, "pod");
    assertThat(target.resolve("kept")).hasContent("kept");
    ControllerReclaimSpaceResponse gaveWay = offline.get(1, TimeUnit.MINUTES);
    assertThat(gaveWay.getPreUsage().getUsageBytes() - gaveWay.getPostUsage().getUsageBytes())
        .as("it had hardly begun")
        .isLessThan(60 * MIB);
    Files.writeString(target.resolve("new"), "written");
    node.unpublish(volume, "pod");
    node.unstage(volume);
    node.stage(volume, USE);
    node.publish(volume, USE, "pod");
    assertThat(target.resolve("new")).hasContent("written");
  }
}
