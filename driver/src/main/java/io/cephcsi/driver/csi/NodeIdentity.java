package io.cephcsi.driver.csi;

import io.cephcsi.proto.csi.v1.NodeGetInfoResponse;
import io.cephcsi.proto.csi.v1.Topology;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * What a node is.
 *
 * @param id its id
 * @param maxVolumes how many volumes it can have; 0 for any number
 * @param topology says where it is, by label; empty for nowhere in particular. It must not block
 */
public record NodeIdentity(
    String id, long maxVolumes, Supplier<CompletableFuture<Map<String, String>>> topology) {

  CompletableFuture<NodeGetInfoResponse> response() {
    return topology.get().thenApply(this::response);
  }

  private NodeGetInfoResponse response(Map<String, String> segments) {
    NodeGetInfoResponse.Builder response =
        NodeGetInfoResponse.newBuilder().setNodeId(id).setMaxVolumesPerNode(maxVolumes);
    if (!segments.isEmpty()) {
      response.setAccessibleTopology(Topology.newBuilder().putAllSegments(segments));
    }
    return response.build();
  }
}
