package io.cephcsi.driver.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.proto.csi.v1.PluginCapability.Service;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PluginServicesTest {
  private static List<Service.Type> services(Map<String, String> topology, List<String> labels) {
    return PluginServices.rbd(
        new DriverConfig.Driver(
            DriverConfig.Type.RBD,
            "rbd.example.com",
            Path.of("/csi/csi.sock"),
            Optional.empty(),
            "",
            "default",
            true,
            false,
            Optional.empty(),
            false,
            new NodeSettings(Optional.empty(), 0, topology, labels, 0)));
  }

  @Test
  void topologyIsAdvertisedOnlyWhereItIsConfigured() {
    Service.Type topology = Service.Type.VOLUME_ACCESSIBILITY_CONSTRAINTS;
    assertThat(services(Map.of(), List.of())).doesNotContain(topology);
    assertThat(services(Map.of("zone", "a"), List.of())).contains(topology);
    assertThat(services(Map.of(), List.of("topology.kubernetes.io/rack"))).contains(topology);
  }
}
