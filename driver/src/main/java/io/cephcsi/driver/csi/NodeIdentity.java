package io.cephcsi.driver.csi;

import io.cephcsi.proto.csi.v1.NodeGetInfoResponse;
import io.cephcsi.proto.csi.v1.Topology;
import java.util.Map;

/**
 * What a node is.
 *
 * @param id its id
 * @param maxVolumes how many volumes it can have; 0 for any number
 * @param topology where it is, by label; empty for nowhere in particular
 */
public record NodeIdentity(String id, long maxVolumes, Map<String, String> topology) {
  /** Copies the map. */
  public NodeIdentity {
    topology = Map.copyOf(topology);
  }

  NodeGetInfoResponse response() {
    NodeGetInfoResponse.Builder response =
        NodeGetInfoResponse.newBuilder().setNodeId(id).setMaxVolumesPerNode(maxVolumes);
    if (!topology.isEmpty()) {
      response.setAccessibleTopology(Topology.newBuilder().putAllSegments(topology));
    }
    return response.build();
  }
}
