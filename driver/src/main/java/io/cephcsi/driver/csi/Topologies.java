package io.cephcsi.driver.csi;

import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.TopologyPools;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Topology;
import io.cephcsi.proto.csi.v1.TopologyRequirement;
import java.util.List;
import java.util.Map;

/** Decodes and encodes where volumes are accessible from. */
final class Topologies {
  private Topologies() {}

  /** The parameters of a request, in the pools that its accessibility requirements allow. */
  static RbdParameters parameters(CreateVolumeRequest request) {
    TopologyRequirement requirement = request.getAccessibilityRequirements();
    return RbdParameters.parse(
        request.getParametersMap(),
        TopologyPools.parse(request.getParametersMap())
            .require(
                segments(requirement.getPreferredList()),
                segments(requirement.getRequisiteList())));
  }

  private static List<Map<String, String>> segments(List<Topology> topologies) {
    return topologies.stream().map(Topology::getSegmentsMap).toList();
  }

  /** Where a volume is accessible from; empty for everywhere. */
  static List<Topology> of(CreatedVolume volume) {
    return volume.topology().isEmpty()
        ? List.of()
        : List.of(Topology.newBuilder().putAllSegments(volume.topology()).build());
  }
}
