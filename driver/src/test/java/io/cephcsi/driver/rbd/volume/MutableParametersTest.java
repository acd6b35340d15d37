package io.cephcsi.driver.rbd.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
  void rulesBySizeAreStoredUnderTheKeysOfCephCsi() {
    Map<String, String> given =
        Map.of(
            "baseReadIops", "2000",
            "readIopsPerGiB", "20",
            "maxReadIops", "5000",
            "baseBps", "1048576",
            "baseVolSizeBytes", "21474836480",
            "pool", "rbd");
    assertThat(MutableParameters.parse(given, Map.of()).metadata())
        .containsOnly(
            Map.entry("rbd_base_qos_read_iops_limit", "2000"),
            Map.entry("rbd_max_qos_read_iops_limit", "5000"),
            Map.entry("rbd_read_iops_per_gib_limit", "20"),
            Map.entry("rbd_base_qos_bps_limit", "1048576"),
            Map.entry("rbd_max_qos_bps_limit", ""),
            Map.entry("rbd_bps_per_gib_limit", ""),
            Map.entry("rbd_base_qos_vol_size", "21474836480"));
    assertThat(
            MutableParameters.parse(given, Map.of("qos.readIopsLimit", "7", "baseBps", "5"))
                .metadata())
        .containsEntry("conf_rbd_qos_read_iops_limit", "7")
        .doesNotContainKey("rbd_base_qos_read_iops_limit")
        .containsEntry("rbd_base_qos_bps_limit", "5");
  }

  @ParameterizedTest
  @CsvSource(
      textBlock =
          """
          maxIops=5,                                          baseIops
          iopsPerGiB=5,                                       baseIops
          baseVolSizeBytes=5,                                 baseVolSizeBytes
          baseIops=5 iopsPerGiB=1,                            baseVolSizeBytes
          baseIops=5 maxIops=4,                               maxIops
          baseIops=0 iopsPerGiB=1 baseVolSizeBytes=1,         iopsPerGiB
          baseIops=many,                                      baseIops
          baseIops=5 qos.iopsLimit=6,                         baseIops
          """)
  void rulesThatCanBeMeantInSeveralWaysAreRefused(String given, String named) {
    Map<String, String> parameters = new HashMap<>();
    for (String one : given.split(" ", -1)) {
      parameters.put(one.split("=", -1)[0], one.split("=", -1)[1]);
    }
    assertThatThrownBy(() -> MutableParameters.parse(parameters))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.INVALID_ARGUMENT))
        .hasMessageContaining(named);
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
