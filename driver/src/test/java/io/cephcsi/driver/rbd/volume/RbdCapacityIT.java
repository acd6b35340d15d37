package io.cephcsi.driver.rbd.volume;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.GetCapacityRequest;
import io.cephcsi.testing.TestCluster;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The free space of all clusters. */
class RbdCapacityIT {
  private static final TestCluster CEPH = TestCluster.shared();

  private static long ofAll(String... namespaces) {
    StringBuilder json = new StringBuilder();
    for (String namespace : namespaces) {
      json.append(json.isEmpty() ? "[" : ",")
          .append(
              """
              {"clusterID": "in-%s", "monitors": ["%s"], "rbd": {"radosNamespace": "%s"}}
              """
                  .formatted(namespace, CEPH.monitors(), namespace));
    }
    List<String> ids = List.of(namespaces).stream().map(namespace -> "in-" + namespace).toList();
    try (TestDriver driver =
        TestDriver.rbd(CEPH).clusters(json + "]", ids).withCredentials().start()) {
      return driver
          .controller()
          .getCapacity(GetCapacityRequest.getDefaultInstance())
          .getAvailableCapacity();
    }
  }

  @Test
  void theRoomOfAClusterCountsOnceForAllItsNamespaces() {
    long one = ofAll("a");
    assertThat(one).isPositive();
    assertThat(ofAll("a", "b", "c")).isBetween(one / 2, one * 3 / 2); // others fill and empty it
  }
}
