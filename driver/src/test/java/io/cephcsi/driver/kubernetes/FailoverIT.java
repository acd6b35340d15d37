package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.CEPHFS;
import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fabric8.kubernetes.api.model.Pod;
import java.time.Duration;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Pods of the driver that end or are replaced while they are needed. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class FailoverIT {
  private static final String PROVISIONER_LEASE = "rbd-csi-ceph-com";
  private static final int CLAIMS = 12;

  @BeforeEach
  void needsPods() {
    assumeTrue(DriverPods.inPods(), "the driver does not run in pods: ci/kubernetes --on-host");
  }

  @Test
  void theOtherReplicaGoesOnWhenTheLeaderIsKilledInMidProvisioning() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      DriverPods driver = kubernetes.driver();
      driver.awaitReady();
      Pod leader = driver.leader(PROVISIONER_LEASE);
      for (int i = 0; i < CLAIMS; i++) {
        kubernetes.claim("data-" + i, i % 2 == 0 ? RBD : CEPHFS, "64Mi");
      }
      kubernetes.bound("data-0");
      driver.end(leader);
      for (int i = 0; i < CLAIMS; i++) {
        assertThat(kubernetes.bound("data-" + i)).isNotEmpty();
      }
      assertThat(driver.holder(PROVISIONER_LEASE)).doesNotContain(leader.getMetadata().getName());
      driver.awaitReady();
    }
  }

  /**
   * A pod writes without a pause, and claims are made, while all pods of the driver are replaced.
   */
  @Test
  void anUpgradeUnderLoadStopsNobody() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      DriverPods driver = kubernetes.driver();
      driver.awaitReady();
      String node = name(driver, "nodeplugin");
      kubernetes.claim("rbd", RBD, "64Mi");
      kubernetes.claim("cephfs", CEPHFS, "64Mi");
      TestPod writer = kubernetes.pod("writer").with("rbd").with("cephfs").start();
      writer.run(
          """
          sh -c '
            while [ ! -e /tmp/stop ]; do
              for volume in rbd cephfs; do
                date >>/$volume/log && sync || echo $volume >>/tmp/failed
              done
              echo >>/tmp/rounds
            done' >/dev/null 2>&1 &
          """);
      Release.upgrade(Map.of("logLevel", 5));
      try {
        for (int i = 0; i < CLAIMS; i++) {
          kubernetes.claim("data-" + i, i % 2 == 0 ? RBD : CEPHFS, "64Mi");
        }
        Awaitility.await()
            .atMost(Duration.ofMinutes(2))
            .untilAsserted(() -> assertThat(name(driver, "nodeplugin")).isNotEqualTo(node));
        driver.awaitReady();
        for (int i = 0; i < CLAIMS; i++) {
          kubernetes.bound("data-" + i);
        }
        int rounds = rounds(writer);
        Awaitility.await()
            .atMost(Duration.ofMinutes(1))
            .untilAsserted(() -> assertThat(rounds(writer)).isGreaterThan(rounds + 3));
        writer.run("touch /tmp/stop");
        assertThat(writer.run("cat /tmp/failed 2>/dev/null || true")).isEmpty();
        TestPod reader = kubernetes.pod("reader").with("rbd").with("data-0").start();
        assertThat(reader.run("wc -l </rbd/log")).isNotEqualTo("0");
      } finally {
        Release.upgrade(Map.of());
        driver.awaitReady();
      }
    }
  }

  private static int rounds(TestPod writer) {
    return Integer.parseInt(writer.run("wc -l </tmp/rounds"));
  }

  private static String name(DriverPods driver, String component) {
    return driver.of(component).stream()
        .map(pod -> pod.getMetadata().getName())
        .findFirst()
        .orElse("");
  }
}
