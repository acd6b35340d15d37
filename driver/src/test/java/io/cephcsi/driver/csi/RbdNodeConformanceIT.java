package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.NodeClient.mounted;
import static io.cephcsi.driver.testing.Statuses.assertStatus;

import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.grpc.Status.Code;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The rules of nodes, for RBD. */
class RbdNodeConformanceIT extends NodePathRules {
  @BeforeAll
  static void start() {
    start(Kind.RBD);
  }

  @Override
  String missingMounter() {
    return NodeClient.mounter().equals("fuse") ? "rbd" : "fuse";
  }

  @Override
  void stagedOtherwise(Volume volume) {
    assertStatus(
        Code.ALREADY_EXISTS, () -> node.stage(volume, NodeClient.block(Mode.SINGLE_NODE_WRITER)));
    assertStatus(
        Code.ALREADY_EXISTS, () -> node.stage(volume, mounted("xfs", Mode.SINGLE_NODE_WRITER)));
  }

  @Test
  void anUnknownFileSystemIsInvalid() {
    assertInvalid(
        "fs_type",
        node.stub()::nodeStageVolume,
        node.stageRequest(nobody, mounted("ntfs", Mode.SINGLE_NODE_WRITER)).build());
  }

  @Test
  void whatCannotBeReclaimedOnANodeIsUnimplemented() {
    assertStatus(
        Code.UNIMPLEMENTED,
        () ->
            node.reclaim(
                node.reclaimRequest(nobody)
                    .setVolumeCapability(NodeClient.block(Mode.SINGLE_NODE_WRITER))
                    .build()));
    assertStatus(
        Code.UNIMPLEMENTED,
        () ->
            node.reclaim(
                node.reclaimRequest(nobody)
                    .setVolumeCapability(NodeClient.block(Mode.MULTI_NODE_MULTI_WRITER))
                    .build()));
  }
}
