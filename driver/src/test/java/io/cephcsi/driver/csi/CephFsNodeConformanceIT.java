package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;

import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.grpc.Status.Code;
import org.junit.jupiter.api.BeforeAll;

/** The rules of nodes, for CephFS. */
class CephFsNodeConformanceIT extends NodePathRules {
  @BeforeAll
  static void start() {
    start(Kind.CEPHFS);
  }

  @Override
  String missingMounter() {
    return NodeClient.mounter().equals("fuse") ? "kernel" : "fuse";
  }

  @Override
  void stagedOtherwise(Volume volume) {
    assertStatus(
        Code.INVALID_ARGUMENT,
        "block",
        () -> node.stage(volume, NodeClient.block(Mode.SINGLE_NODE_WRITER)));
  }
}
