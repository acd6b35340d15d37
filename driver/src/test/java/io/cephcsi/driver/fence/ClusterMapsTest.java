package io.cephcsi.driver.fence;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.fence.ClusterMaps.DaemonAddress;
import io.cephcsi.driver.volume.Json;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The form of the maps is checked by NetworkFenceIT on a real cluster; here, what it rarely has.
 */
class ClusterMapsTest {
  @Test
  void fencedRangesAreThoseWithoutANonce() throws Exception {
    assertThat(
            ClusterMaps.fenced(
                Json.mapper()
                    .readTree(
                        """
                        {"blocklist": {"10.3.3.3:0/0": "u", "10.3.3.4:0/77": "u", "x": "u",
                                       "10.3.3.5:6789/0": "u",
                                       "[fd00::5]:0/0": "u"},
                         "range_blocklist": {"cidr:10.9.0.0:0/24": "u",
                                             "cidr:[fd00::1]:0/128": "u", "cidr:odd": "u"}}
                        """)))
        .extracting(Cidr::toString)
        .containsExactlyInAnyOrder(
            "10.9.0.0/24", "fd00:0:0:0:0:0:0:1/128", "10.3.3.3/32", "fd00:0:0:0:0:0:0:5/128");
  }

  @Test
  void modulesStandbysAndServicesAreDaemons() throws Exception {
    List<DaemonAddress> daemons = new ArrayList<>();
    ClusterMaps.managers(
        Json.mapper()
            .readTree(
                """
                {"active_name": "x", "active_addrs": {"addrvec": [{"addr": "10.0.0.1:6800"}]},
                 "active_clients": [{"name": "volumes", "addrvec": [{"addr": "10.0.0.2:0"}]},
                                    {"addrvec": [{"addr": "[fd00::3]:0"}]}]}
                """),
        daemons);
    ClusterMaps.metadataServers(
        Json.mapper()
            .readTree(
                """
                {"standbys": [{"name": "b", "addrs": {"addrvec": [{"addr": "10.0.0.4:6801"}]}}],
                 "filesystems": [{"mdsmap": {"info": {"gid_1":
                   {"name": "a", "addrs": {"addrvec": [{"addr": "10.0.0.5:6801"}]}}}}}]}
                """),
        daemons);
    ClusterMaps.services(
        Json.mapper()
            .readTree(
                """
                {"services": {"rbd-mirror": {"daemons": {"summary": "",
                   "4123": {"addr": "10.0.0.6:0/3498"}}}}}
                """),
        daemons);
    assertThat(daemons)
        .extracting(daemon -> daemon.daemon() + " " + daemon.address().getHostAddress())
        .containsExactly(
            "mgr.x 10.0.0.1",
            "mgr module volumes 10.0.0.2",
            "mgr module client fd00:0:0:0:0:0:0:3",
            "mds.b 10.0.0.4",
            "mds.a 10.0.0.5",
            "rbd-mirror.4123 10.0.0.6");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "10.0.0.1", "host:0/1", "10.0.0.999:0/1", "10.0.0.1:0/x"})
  void whatIsNoAddressIsNone(String text) {
    assertThat(ClusterMaps.address(text)).isEmpty();
  }
}
