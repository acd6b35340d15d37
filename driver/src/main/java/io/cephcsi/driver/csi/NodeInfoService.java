package io.cephcsi.driver.csi;

import io.cephcsi.driver.grpc.Answer;
import io.cephcsi.proto.csi.v1.NodeGetCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.NodeGetCapabilitiesResponse;
import io.cephcsi.proto.csi.v1.NodeGetInfoRequest;
import io.cephcsi.proto.csi.v1.NodeGetInfoResponse;
import io.cephcsi.proto.csi.v1.NodeGrpc;
import io.grpc.stub.StreamObserver;

/**
 * CSI Node as far as this version serves it: who the node is. It has no capabilities, and staging
 * and publishing are UNIMPLEMENTED.
 */
public final class NodeInfoService extends NodeGrpc.NodeImplBase {
  private final String nodeId;

  /**
   * @param nodeId the id of this node
   */
  public NodeInfoService(String nodeId) {
    this.nodeId = nodeId;
  }

  @Override
  public void nodeGetCapabilities(
      NodeGetCapabilitiesRequest request, StreamObserver<NodeGetCapabilitiesResponse> observer) {
    Answer.now(observer, NodeGetCapabilitiesResponse.getDefaultInstance());
  }

  @Override
  public void nodeGetInfo(
      NodeGetInfoRequest request, StreamObserver<NodeGetInfoResponse> observer) {
    Answer.now(observer, NodeGetInfoResponse.newBuilder().setNodeId(nodeId).build());
  }
}
