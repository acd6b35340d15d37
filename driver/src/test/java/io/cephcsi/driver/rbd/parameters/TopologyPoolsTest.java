package io.cephcsi.driver.rbd.parameters;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class TopologyPoolsTest {
  private static final String REGION = "topology.rbd.csi.ceph.com/region";
  private static final String ZONE = "topology.rbd.csi.ceph.com/zone";
  private static final Map<String, String> PARAMETERS =
      Map.of(
          "clusterID",
          "c",
          "pool",
          "journal",
          "topologyConstrainedPools",
          """
          [{"poolName": "east1", "domainSegments": [
              {"domainLabel": "region", "value": "east"}, {"domainLabel": "zone", "value": "z1"}]},
           {"poolName": "east2", "dataPool": "ec", "domainSegments": [
              {"domainLabel": "region", "value": "east"}, {"domainLabel": "zone", "value": "z2"}]}]
          """);

  private static Map<String, String> place(String region, String zone) {
    return Map.of(REGION, region, ZONE, zone, "kubernetes.io/hostname", "node-1");
  }

  @Test
  void thePreferredPlaceComesFirst() {
    List<TopologyPools.Choice> choices =
        TopologyPools.parse(PARAMETERS)
            .require(
                List.of(place("east", "z2")), List.of(place("east", "z1"), place("east", "z2")));
    assertThat(choices)
        .containsExactly(
            new TopologyPools.Choice(
                "east2", Optional.of("ec"), Map.of(REGION, "east", ZONE, "z2")),
            new TopologyPools.Choice(
                "east1", Optional.empty(), Map.of(REGION, "east", ZONE, "z1")));

    RbdParameters parameters = RbdParameters.parse(PARAMETERS, choices);
    assertThat(parameters.pool()).isEqualTo("east2");
    assertThat(parameters.options().dataPool()).contains("ec");
    assertThat(parameters.journalPool()).isEqualTo("journal");
    assertThat(parameters.context())
        .containsEntry("pool", "east2")
        .doesNotContainKey("topologyConstrainedPools");
    assertThat(parameters.topology()).isEqualTo(Map.of(REGION, "east", ZONE, "z2"));
    assertThat(parameters.alternatives()).extracting(RbdParameters::pool).containsExactly("east1");
    assertThat(parameters.alternatives().get(0).options().dataPool()).isEmpty();
  }

  @Test
  void noPoolForAnyPlaceIsResourceExhausted() {
    TopologyPools pools = TopologyPools.parse(PARAMETERS);
    assertThatThrownBy(() -> pools.require(List.of(), List.of(place("west", "z1"))))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.RESOURCE_EXHAUSTED));
  }

  @Test
  void withoutRequirementsThePoolOfTheClassHolds() {
    assertThat(TopologyPools.parse(PARAMETERS).require(List.of(), List.of())).isEmpty();
    assertThat(TopologyPools.parse(Map.of()).require(List.of(place("a", "b")), List.of()))
        .isEmpty();
    assertThat(RbdParameters.parse(PARAMETERS, List.of()).pool()).isEqualTo("journal");
  }

  @Test
  void withoutPoolTheNameIsInTheFirstOfTheListWhateverIsPreferred() {
    Map<String, String> poolless = new HashMap<>(PARAMETERS);
    poolless.remove("pool");
    TopologyPools pools = TopologyPools.parse(poolless);
    for (List<String> zones : List.of(List.of("z1", "z2"), List.of("z2", "z1"), List.of("z2"))) {
      RbdParameters parameters =
          RbdParameters.parse(
              poolless,
              pools.require(zones.stream().map(zone -> place("east", zone)).toList(), List.of()));
      assertThat(parameters.journalPool()).isEqualTo("east1");
      assertThat(parameters.pool()).isEqualTo(zones.get(0).equals("z1") ? "east1" : "east2");
      assertThat(parameters.context()).containsEntry("pool", parameters.pool());
      assertThat(parameters.alternatives()).hasSize(zones.size() - 1);
      assertThat(parameters.inOwnJournal().journalPool()).isEqualTo(parameters.pool());
    }
    assertThatThrownBy(() -> RbdParameters.parse(poolless, List.of()))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.INVALID_ARGUMENT))
        .hasMessageContaining("topologyConstrainedPools");
  }

  @Test
  void whatIsNoListOfPoolsIsInvalid() {
    for (String bad : List.of("{", "[]", "[{}]", "7", "[{\"poolName\": \"a\"}]")) {
      assertThatThrownBy(() -> TopologyPools.parse(Map.of("topologyConstrainedPools", bad)))
          .isInstanceOf(VolumeException.class)
          .hasMessageContaining("topologyConstrainedPools");
    }
  }
}
