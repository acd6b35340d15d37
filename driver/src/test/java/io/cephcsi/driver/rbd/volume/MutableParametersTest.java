package io.cephcsi.driver.rbd.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MutableParametersTest {
  @Test
  void limitsBecomeMetadataOfTheImage() {
    assertThat(
            MutableParameters.parse(Map.of("qos.iopsLimit", " 0500", "qos.readBpsLimit", ""))
                .metadata())
        .containsOnly(
            Map.entry("conf_rbd_qos_iops_limit", "500"),
            Map.entry("conf_rbd_qos_read_bps_limit", ""));
  }

  @Test
  void whatSidecarsAddIsNoLimit() {
    assertThat(
            MutableParameters.parse(
                    Map.of("csi.storage.k8s.io/pvc/name", "claim", "qos.iopsLimit", "5"))
                .metadata())
        .containsOnlyKeys("conf_rbd_qos_iops_limit");
  }

  @Test
  void unknownKeysAndNumbersThatAreNoneAreNamed() {
    assertThatThrownBy(() -> MutableParameters.parse(Map.of("colour", "blue")))
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining("colour")
        .hasMessageContaining("qos.iopsLimit");
    for (String bad : new String[] {"-1", "many", "1.5", "9999999999999999999"}) {
      assertThatThrownBy(() -> MutableParameters.parse(Map.of("qos.bpsLimit", bad)))
          .isInstanceOf(VolumeException.class)
          .hasMessageContaining("qos.bpsLimit");
    }
  }
}
