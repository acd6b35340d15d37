package io.cephcsi.driver.csi;

import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.TopologyPools;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Topology;
import io.cephcsi.proto.csi.v1.TopologyRequirement;
import java.util.List;
import java.util.Map;

/** Decodes and encodes where volumes are accessible from. */
final class Topologies {
  private Topologies() {}

  /**
   * The parameters of a request, in the pools that its accessibility requirements allow.
   *
   * @param advertised whether the driver says that volumes have a topology; otherwise a CO tells no
   *     requirements, whatever the StorageClass and the pod want
   * @throws VolumeException FAILED_PRECONDITION if the class constrains pools, nothing is required,
   *     and nothing is advertised
   */
  static RbdParameters parameters(CreateVolumeRequest request, boolean advertised) {
    TopologyRequirement requirement = request.getAccessibilityRequirements();
    TopologyPools pools = TopologyPools.parse(request.getParametersMap());
    boolean required = requirement.getPreferredCount() > 0 || requirement.getRequisiteCount() > 0;
    if (!pools.isEmpty() && !required && !advertised) {
      throw new VolumeException(
          VolumeException.Reason.FAILED_PRECONDITION,
          "parameters: "
              + TopologyPools.PARAMETER
              + ": the controller has no topology, so it is not told where the volume is needed:"
              + " start it with the --domainlabels (or --topology) of the nodes");
    }
    return RbdParameters.parse(
        request.getParametersMap(),
        pools.require(
            segments(requirement.getPreferredList()), segments(requirement.getRequisiteList())));
  }

  /**
   * Wherever the pools of a StorageClass serve, to check its parameters without a place.
   *
   * @return without any topology where the class constrains nothing
   * @throws VolumeException INVALID_ARGUMENT if the class's list is none
   */
  static TopologyRequirement anywhere(Map<String, String> parameters) {
    TopologyRequirement.Builder places = TopologyRequirement.newBuilder();
    TopologyPools.parse(parameters)
        .places()
        .forEach(place -> places.addPreferred(Topology.newBuilder().putAllSegments(place)));
    return places.build();
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
