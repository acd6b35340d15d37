package io.cephcsi.driver.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EndpointsTest {
  @ParameterizedTest
  @ValueSource(strings = {"unix:///csi/csi.sock", "unix:/csi/csi.sock", "/csi/csi.sock"})
  void allFormsOfAnAbsolutePathAreTheSameSocket(String endpoint) {
    assertThat(Endpoints.socket(endpoint)).isEqualTo(Path.of("/csi/csi.sock"));
  }

  @Test
  void relativePathsAreAllowed() {
    assertThat(Endpoints.socket("unix://csi.sock")).isEqualTo(Path.of("csi.sock"));
    assertThat(Endpoints.socket("csi.sock")).isEqualTo(Path.of("csi.sock"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"tcp://0.0.0.0:10000", "http://localhost", "vsock://2:1"})
  void theNetworkIsRefusedBecauseOfTheSecrets(String endpoint) {
    assertThatThrownBy(() -> Endpoints.socket(endpoint))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(endpoint)
        .hasMessageContaining("secrets");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "unix:", "unix://"})
  void aPathIsNeeded(String endpoint) {
    assertThatThrownBy(() -> Endpoints.socket(endpoint))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("no path");
  }

  @Test
  void aPathThatCannotBeIsAnErrorOfTheConfiguration() {
    assertThatThrownBy(() -> Endpoints.socket("unix:///csi/\0.sock"))
        .isInstanceOf(ConfigException.class);
  }

  @Test
  void kindsOfDriversHaveTheirNames() {
    assertThat(Endpoints.type("rbd")).isEqualTo(DriverConfig.Type.RBD);
    assertThat(Endpoints.type("cephfs")).isEqualTo(DriverConfig.Type.CEPHFS);
    assertThat(DriverConfig.Type.RBD.defaultName()).isEqualTo("rbd.csi.ceph.com");
    assertThat(DriverConfig.Type.CEPHFS.defaultName()).isEqualTo("cephfs.csi.ceph.com");
    assertThatThrownBy(() -> Endpoints.type("nfs"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("nfs")
        .hasMessageContaining("rbd or cephfs");
  }
}
