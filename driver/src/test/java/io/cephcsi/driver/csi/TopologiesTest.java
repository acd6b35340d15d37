package io.cephcsi.driver.csi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Topology;
import io.cephcsi.proto.csi.v1.TopologyRequirement;
import org.junit.jupiter.api.Test;

/** Classes that constrain pools need a driver that is told where volumes are needed. */
class TopologiesTest {
  private static final CreateVolumeRequest REQUEST =
      CreateVolumeRequest.newBuilder()
          .putParameters("clusterID", "c")
          .putParameters("pool", "rbd")
          .putParameters(
              "topologyConstrainedPools",
              "[{\"poolName\": \"east\", \"domainSegments\":"
                  + " [{\"domainLabel\": \"zone\", \"value\": \"z1\"}]}]")
          .build();

  @Test
  void aDriverThatAdvertisesNoTopologyDoesNotGuessThePool() {
    assertThatThrownBy(() -> Topologies.parameters(REQUEST, false))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.FAILED_PRECONDITION))
        .hasMessageContaining("--domainlabels");
  }

  @Test
  void whatIsRequiredHoldsWhateverIsAdvertised() {
    CreateVolumeRequest required =
        REQUEST.toBuilder()
            .setAccessibilityRequirements(
                TopologyRequirement.newBuilder()
                    .addRequisite(Topology.newBuilder().putSegments("a.b/zone", "z1")))
            .build();
    assertThat(Topologies.parameters(required, false).pool()).isEqualTo("east");
  }

  @Test
  void whoIsToldOfTopologyAndGetsNoneTakesThePoolOfTheClass() {
    assertThat(Topologies.parameters(REQUEST, true).pool()).isEqualTo("rbd");
  }

  @Test
  void classesWithoutConstraintsNeedNoTopology() {
    CreateVolumeRequest plain =
        REQUEST.toBuilder().removeParameters("topologyConstrainedPools").build();
    assertThat(Topologies.parameters(plain, false).pool()).isEqualTo("rbd");
  }
}
