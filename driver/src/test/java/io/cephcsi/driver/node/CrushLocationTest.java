package io.cephcsi.driver.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.NodeConfig;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CrushLocationTest {
  private static final CrushLocation NODE =
      new CrushLocation(
          Map.of(
              "kubernetes.io/hostname", "worker-1.example.com",
              "topology.kubernetes.io/zone", "east",
              "rack", "r1"));

  private static ClusterConfig cluster(String... labels) {
    return new ClusterConfig(
        "c", List.of("mon"), "", "csi", "csi", new NodeConfig("", "", "", "", List.of(labels)));
  }

  @Test
  void labelsThatTheConfigurationNamesBecomeThePlace() {
    assertThat(
            NODE.options(
                cluster("topology.kubernetes.io/zone", "kubernetes.io/hostname", "floor"), ""))
        .isEqualTo("read_from_replica=localize,crush_location=zone:east|host:worker-1-example-com");
    assertThat(NODE.options(cluster("rack"), "rw"))
        .isEqualTo("read_from_replica=localize,crush_location=rack:r1");
  }

  @Test
  void whatIsNoNameOfAPlaceIsLeftOut() {
    CrushLocation odd =
        new CrushLocation(Map.of("rack", "r1,secretfile=/x", "zone", "", "row", " 7 "));
    assertThat(odd.options(cluster("rack", "zone", "row"), ""))
        .isEqualTo("read_from_replica=localize,crush_location=row:7");
    assertThat(odd.options(cluster("rack"), "")).isEmpty();
  }

  @Test
  void labelsAreAskedForWhereTheyAreNeededOnly() {
    CrushLocation silent =
        new CrushLocation(
            asked -> {
              throw new IllegalStateException("asked for " + asked);
            });
    assertThat(silent.options(cluster(), "")).isEmpty();
    assertThat(silent.options(cluster("rack"), "read_from_replica=no")).isEmpty();
  }

  @Test
  void withoutLabelsOrWhenItIsSaidOtherwiseNothingChanges() {
    assertThat(NODE.options(cluster(), "")).isEmpty();
    assertThat(NODE.options(cluster("floor"), "")).isEmpty();
    assertThat(NODE.options(cluster("rack"), "read_from_replica=no")).isEmpty();
  }
}
