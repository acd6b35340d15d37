package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KernelMonitorsTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // configured | version 2 wanted | addresses | version 2
        "10.0.0.1 | false | 10.0.0.1:6789 | false",
        "10.0.0.1 | true | 10.0.0.1:3300 | true",
        "10.0.0.1:6789,10.0.0.2:6789 | false | 10.0.0.1:6789 10.0.0.2:6789 | false",
        "10.0.0.1:7000 | true | 10.0.0.1:7000 | true",
        "10.0.0.1:3300 | false | 10.0.0.1:3300 | true",
        "10.0.0.1:6789 | true | 10.0.0.1:6789 | false",
        "[v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0] | false | 10.0.0.1:6789 | false",
        "[v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0] | true | 10.0.0.1:3300 | true",
        "v2:10.0.0.1:4000 | false | 10.0.0.1:4000 | true",
        "[v2:[fd00::1]:3300,v1:[fd00::1]:6789] | false | [fd00::1]:6789 | false",
        "fd00::1 | true | [fd00::1]:3300 | true",
        "mon-a.example.com | false | mon-a.example.com:6789 | false"
      })
  void allAddressesAreOfOneVersion(String text, boolean wantsV2, String expected, boolean isV2) {
    ClusterConfig cluster = new ClusterConfig("c", List.of(text), "", "csi", "csi");
    assertThat(KernelMonitors.of(cluster, wantsV2))
        .isEqualTo(new KernelMonitors(List.of(expected.split(" ", -1)), isV2));
  }
}
