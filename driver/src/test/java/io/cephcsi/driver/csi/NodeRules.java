package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.NodeClient.mounted;
import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.reclaimspace.NodeReclaimSpaceRequest;
import io.cephcsi.proto.csi.v1.NodeExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeGetCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.NodeGetInfoRequest;
import io.cephcsi.proto.csi.v1.NodeGetInfoResponse;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsRequest;
import io.cephcsi.proto.csi.v1.NodeGetVolumeStatsResponse;
import io.cephcsi.proto.csi.v1.NodePublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeServiceCapability.RPC;
import io.cephcsi.proto.csi.v1.NodeStageVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnstageVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the CSI specification asks of every node, over the socket. */
abstract class NodeRules extends ConformanceCase {
  static final VolumeCapability WRITER = mounted("ext4", Mode.SINGLE_NODE_WRITER);
  private static final VolumeCapability READER = mounted("ext4", Mode.SINGLE_NODE_READER_ONLY);

  NodeClient node;
  final Volume nobody = Volume.newBuilder().setVolumeId(NOBODY).build();
  private final Volume stranger = Volume.newBuilder().setVolumeId("not-an-id").build();

  @BeforeEach
  void connect() {
    node = driver.node();
  }

  @AfterEach
  void cleanUp() {
    node.close();
  }

  @Test
  void theNodeSaysWhatItIs() {
    NodeGetInfoResponse info = node.stub().nodeGetInfo(NodeGetInfoRequest.getDefaultInstance());
    assertThat(info.getNodeId()).isEqualTo(TestDriver.NODE_ID);
    assertThat(info.getMaxVolumesPerNode()).isEqualTo(7);
    assertThat(info.getAccessibleTopology().getSegmentsMap())
        .isEqualTo(Map.of("topology.example.com/zone", "z1"));
    assertThat(
            node.stub()
                .nodeGetCapabilities(NodeGetCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList())
        .extracting(capability -> capability.getRpc().getType())
        .containsExactlyInAnyOrder(
            RPC.Type.STAGE_UNSTAGE_VOLUME,
            RPC.Type.GET_VOLUME_STATS,
            RPC.Type.EXPAND_VOLUME,
            RPC.Type.VOLUME_CONDITION,
            RPC.Type.SINGLE_NODE_MULTI_WRITER,
            RPC.Type.VOLUME_MOUNT_GROUP);
  }

  @Test
  void stagingNeedsItsFields() {
    NodeStageVolumeRequest whole = node.stageRequest(nobody, WRITER).build();
    assertInvalid(
        "volume_id", node.stub()::nodeStageVolume, whole.toBuilder().clearVolumeId().build());
    assertInvalid(
        "staging_target_path",
        node.stub()::nodeStageVolume,
        whole.toBuilder().clearStagingTargetPath().build());
    assertInvalid(
        "staging_target_path",
        node.stub()::nodeStageVolume,
        whole.toBuilder().setStagingTargetPath("relative/path").build());
    assertInvalid(
        "volume_capability",
        node.stub()::nodeStageVolume,
        whole.toBuilder().clearVolumeCapability().build());
    assertInvalid(
        "access_mode",
        node.stub()::nodeStageVolume,
        whole.toBuilder().setVolumeCapability(WRITER.toBuilder().clearAccessMode()).build());
    assertInvalid(
        "volume_capability: ",
        node.stub()::nodeStageVolume,
        node.stageRequest(nobody, kind.unsupported()).build());
    assertStatus(
        Code.UNAUTHENTICATED,
        () -> node.stub().nodeStageVolume(whole.toBuilder().clearSecrets().build()));
  }

  @Test
  void aVolumeThatNeverWasIsNotFound() {
    assertStatus(Code.NOT_FOUND, () -> node.stage(nobody, WRITER));
    assertStatus(Code.NOT_FOUND, () -> node.stage(stranger, WRITER));
    assertStatus(Code.NOT_FOUND, () -> node.publish(stranger, WRITER, "pod"));
    assertStatus(Code.FAILED_PRECONDITION, () -> node.publish(nobody, WRITER, "pod"));
    assertStatus(Code.NOT_FOUND, () -> node.stats(nobody, "pod"));
    assertStatus(Code.NOT_FOUND, () -> node.stats(stranger, "pod"));
    assertStatus(Code.NOT_FOUND, () -> node.expand(nobody, "pod"));
    assertStatus(
        Code.NOT_FOUND,
        "volume_path",
        () ->
            node.stub()
                .nodeGetVolumeStats(
                    NodeGetVolumeStatsRequest.newBuilder()
                        .setVolumeId(NOBODY)
                        .setVolumePath("some/path")
                        .build()));
    assertStatus(
        Code.NOT_FOUND,
        "volume_path",
        () ->
            node.stub()
                .nodeExpandVolume(
                    NodeExpandVolumeRequest.newBuilder()
                        .setVolumeId(NOBODY)
                        .setVolumePath("some/path")
                        .build()));
    assertStatus(Code.NOT_FOUND, () -> node.expand(stranger, "pod"));
    Code reclaim = kind == Kind.RBD ? Code.NOT_FOUND : Code.UNIMPLEMENTED;
    assertStatus(reclaim, () -> node.reclaim(node.reclaimRequest(nobody).build()));
    assertStatus(reclaim, () -> node.reclaim(node.reclaimRequest(stranger).build()));
    for (Volume volume : new Volume[] {nobody, stranger}) {
      node.unpublish(volume, "pod");
      node.unstage(volume);
    }
    assertThat(node.leftovers()).isEmpty();
    assertThat(node.files("staging")).isEmpty();
  }

  @Test
  void publishingNeedsItsFields() {
    NodePublishVolumeRequest whole = node.publishRequest(nobody, WRITER, "pod").build();
    assertInvalid(
        "volume_id", node.stub()::nodePublishVolume, whole.toBuilder().clearVolumeId().build());
    assertInvalid(
        "target_path", node.stub()::nodePublishVolume, whole.toBuilder().clearTargetPath().build());
    assertInvalid(
        "volume_capability",
        node.stub()::nodePublishVolume,
        whole.toBuilder().clearVolumeCapability().build());
    assertStatus(
        Code.FAILED_PRECONDITION,
        "staging_target_path",
        () -> node.stub().nodePublishVolume(whole.toBuilder().clearStagingTargetPath().build()));
  }

  @Test
  void undoingNeedsItsFields() {
    assertInvalid(
        "volume_id",
        node.stub()::nodeUnstageVolume,
        NodeUnstageVolumeRequest.newBuilder().setStagingTargetPath("/x").build());
    assertInvalid(
        "staging_target_path",
        node.stub()::nodeUnstageVolume,
        NodeUnstageVolumeRequest.newBuilder().setVolumeId(NOBODY).build());
    assertInvalid(
        "volume_id",
        node.stub()::nodeUnpublishVolume,
        NodeUnpublishVolumeRequest.newBuilder().setTargetPath("/x").build());
    assertInvalid(
        "target_path",
        node.stub()::nodeUnpublishVolume,
        NodeUnpublishVolumeRequest.newBuilder().setVolumeId(NOBODY).build());
  }

  @Test
  void otherCallsNeedTheirFields() {
    assertInvalid(
        "volume_id",
        node.stub()::nodeGetVolumeStats,
        NodeGetVolumeStatsRequest.newBuilder().setVolumePath("/x").build());
    assertInvalid(
        "volume_path",
        node.stub()::nodeGetVolumeStats,
        NodeGetVolumeStatsRequest.newBuilder().setVolumeId(NOBODY).build());
    assertInvalid(
        "volume_id",
        node.stub()::nodeExpandVolume,
        NodeExpandVolumeRequest.newBuilder().setVolumePath("/x").build());
    assertInvalid(
        "volume_path",
        node.stub()::nodeExpandVolume,
        NodeExpandVolumeRequest.newBuilder().setVolumeId(NOBODY).build());
    assertInvalid(
        "volume_id",
        node::reclaim,
        NodeReclaimSpaceRequest.newBuilder().setVolumePath("/x").build());
    assertInvalid(
        "volume_path or staging_target_path",
        node::reclaim,
        NodeReclaimSpaceRequest.newBuilder().setVolumeId(NOBODY).build());
  }

  @Test
  void everyCallMayBeRepeated() throws IOException {
    Volume volume = create();
    for (int i = 0; i < 2; i++) {
      node.stage(volume, WRITER);
    }
    for (int i = 0; i < 2; i++) {
      node.publish(volume, WRITER, "pod");
      node.publish(volume, WRITER, "other");
    }
    Files.writeString(node.target(volume, "pod").resolve("file"), "written");
    assertThat(node.target(volume, "other").resolve("file")).hasContent("written");
    assertThat(mountsAt(node.target(volume, "pod"))).hasSize(1);
    for (int i = 0; i < 2; i++) {
      node.unpublish(volume, "pod");
      node.unpublish(volume, "other");
    }
    assertThat(node.target(volume, "pod")).doesNotExist();
    for (int i = 0; i < 2; i++) {
      node.unstage(volume);
    }
    assertThat(node.leftovers()).isEmpty();
    assertThat(node.files("staging")).isEmpty();
    assertThat(node.files("node")).isEmpty();
    node.stage(volume, READER);
    assertThat(node.publish(volume, READER, "pod").resolve("file")).hasContent("written");
    end(volume);
  }

  private static List<Mount> mountsAt(Path target) {
    return MountTable.read().all().stream().filter(m -> m.target().equals(target)).toList();
  }

  private void end(Volume volume) {
    node.remove(volume);
    assertThat(node.leftovers()).isEmpty();
    driver.delete(volume.getVolumeId());
  }

  @Test
  void aStagedVolumeIsNotStagedInAnotherWay() {
    Volume volume = create();
    node.stage(volume, WRITER);
    assertStatus(Code.ALREADY_EXISTS, () -> node.stage(volume, READER));
    stagedOtherwise(volume);
    node.unstage(volume);
    node.stage(volume, READER);
    assertStatus(Code.ALREADY_EXISTS, () -> node.stage(volume, WRITER));
    end(volume);
  }

  /** More ways in which a volume that is staged cannot be staged. */
  void stagedOtherwise(Volume volume) {}

  @Test
  void aTargetIsNotPublishedInAnotherWay() {
    Volume volume = create();
    Volume another = create();
    node.stage(volume, WRITER);
    node.stage(another, WRITER);
    node.publish(volume, WRITER, "pod");
    NodePublishVolumeRequest.Builder toRead = node.publishRequest(volume, WRITER, "pod");
    assertStatus(
        Code.ALREADY_EXISTS, () -> node.stub().nodePublishVolume(toRead.setReadonly(true).build()));
    NodePublishVolumeRequest.Builder there = node.publishRequest(another, WRITER, "pod");
    assertStatus(
        Code.ALREADY_EXISTS,
        () ->
            node.stub()
                .nodePublishVolume(
                    there.setTargetPath(node.target(volume, "pod").toString()).build()));
    assertThat(node.stub().nodePublishVolume(readOnly(volume, "reader"))).isNotNull();
    assertThatThrownBy(() -> Files.writeString(node.target(volume, "reader").resolve("file"), "no"))
        .isInstanceOf(FileSystemException.class)
        .hasMessageContaining("Read-only");
    node.remove(another);
    driver.delete(another.getVolumeId());
    end(volume);
  }

  private NodePublishVolumeRequest readOnly(Volume volume, String pod) {
    return node.publishRequest(volume, WRITER, pod).setReadonly(true).build();
  }

  @Test
  void statsAndExpansionNeedAVolumeThatIsThere() {
    Volume volume = create();
    node.stage(volume, WRITER);
    assertStatus(Code.NOT_FOUND, () -> node.stats(volume, "pod"));
    node.publish(volume, WRITER, "pod");
    NodeGetVolumeStatsResponse stats = node.stats(volume, "pod");
    assertThat(stats.getVolumeCondition().getAbnormal()).isFalse();
    assertThat(stats.getUsage(0).getTotal()).isBetween(SIZE / 2, SIZE);
    assertThat(stats.getUsage(0).getAvailable()).isPositive();
    NodeExpandVolumeRequest.Builder more =
        NodeExpandVolumeRequest.newBuilder()
            .setVolumeId(volume.getVolumeId())
            .setVolumePath(node.target(volume, "pod").toString())
            .putAllSecrets(driver.secrets());
    more.getCapacityRangeBuilder().setRequiredBytes(1L << 40);
    assertStatus(
        Code.UNAVAILABLE, "required_bytes", () -> node.stub().nodeExpandVolume(more.build()));
    end(volume);
  }

  /** CSI: volume_path may be the staging_target_path of NodeStageVolume. */
  @Test
  void statsAreThereWhereAVolumeIsStaged() {
    Volume volume = create();
    assertStatus(Code.NOT_FOUND, () -> statsOfStaged(volume));
    node.stage(volume, WRITER);
    for (int i = 0; i < 2; i++) {
      NodeGetVolumeStatsResponse stats = statsOfStaged(volume);
      assertThat(stats.getVolumeCondition().getAbnormal()).isFalse();
      assertThat(stats.getUsage(0).getTotal()).isBetween(SIZE / 2, SIZE);
      node.publish(volume, WRITER, "pod");
    }
    if (kind == Kind.RBD) { // a mount of CephFS does not tell whose it is
      assertStatus(Code.NOT_FOUND, () -> statsAt(nobody, node.staging(volume)));
    }
    node.remove(volume);
    assertStatus(Code.NOT_FOUND, () -> statsOfStaged(volume));
    end(volume);
  }

  private NodeGetVolumeStatsResponse statsOfStaged(Volume volume) {
    return statsAt(volume, node.staging(volume));
  }

  private NodeGetVolumeStatsResponse statsAt(Volume volume, Path path) {
    return node.stub()
        .nodeGetVolumeStats(
            NodeGetVolumeStatsRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .setVolumePath(path.toString())
                .build());
  }

  @Test
  void aMounterThatThisNodeHasNotIsRefused() {
    Volume volume = create();
    assertStatus(
        Code.FAILED_PRECONDITION,
        "this node cannot",
        () ->
            node.stub()
                .nodeStageVolume(
                    node.stageRequest(volume, WRITER)
                        .putVolumeContext("mounter", missingMounter())
                        .build()));
    end(volume);
  }

  /** A mounter that cannot be used where the tests run. */
  abstract String missingMounter();

  @Test
  void anUnknownMounterIsInvalid() {
    Volume volume = create();
    assertStatus(
        Code.INVALID_ARGUMENT,
        "mounter",
        () ->
            node.stub()
                .nodeStageVolume(
                    node.stageRequest(volume, WRITER)
                        .putVolumeContext("mounter", "teleport")
                        .build()));
    driver.delete(volume.getVolumeId());
  }
}
