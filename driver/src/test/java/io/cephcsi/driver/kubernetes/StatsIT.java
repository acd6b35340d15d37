package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.CEPHFS;
import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** What kubelet tells of volumes, as monitoring systems ask for it. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class StatsIT {
  private static final long MIB = 1L << 20;
  private static final String METRICS = "/api/v1/nodes/%s/proxy/metrics";

  @Test
  void kubeletMeasuresEveryKindOfVolume() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      String xfs =
          kubernetes.storageClass(
              RBD, made -> made.addToParameters("csi.storage.k8s.io/fstype", "xfs"));
      kubernetes.claim("ext4", RBD, "128Mi");
      kubernetes.claim("xfs", xfs, "320Mi");
      kubernetes.claim("cephfs", CEPHFS, "128Mi");
      kubernetes.claim("raw", RBD, "128Mi", spec -> spec.withVolumeMode("Block"));
      TestPod pod =
          kubernetes.pod("pod").with("ext4").with("xfs").with("cephfs").withBlock("raw").start();
      for (String claim : new String[] {"ext4", "xfs", "cephfs"}) {
        pod.run("dd if=/dev/urandom of=/%s/file bs=1M count=32 && sync".formatted(claim));
      }
      // Kubelet asks each 10 s; what CephFS counts comes a while after the write.
      Awaitility.await()
          .atMost(Duration.ofMinutes(2))
          .pollInterval(Duration.ofSeconds(2))
          .untilAsserted(() -> assertMeasured(kubernetes));
    }
  }

  private static void assertMeasured(Kubernetes kubernetes) {
    String node = kubernetes.client().nodes().list().getItems().get(0).getMetadata().getName();
    Metrics metrics =
        new Metrics(kubernetes.client().raw(METRICS.formatted(node)), kubernetes.namespace());
    assertThat(metrics.of("capacity_bytes", "ext4")).isBetween(96 * MIB, 128 * MIB);
    assertThat(metrics.of("capacity_bytes", "xfs")).isBetween(240 * MIB, 320 * MIB);
    assertThat(metrics.of("capacity_bytes", "cephfs")).isEqualTo(128 * MIB);
    assertThat(metrics.of("capacity_bytes", "raw")).isEqualTo(128 * MIB);
    for (String claim : new String[] {"ext4", "xfs", "cephfs"}) {
      long used = metrics.of("used_bytes", claim);
      assertThat(used).as(claim).isBetween(32 * MIB, 72 * MIB);
      assertThat(metrics.of("available_bytes", claim))
          .as(claim)
          .isBetween(16 * MIB, metrics.of("capacity_bytes", claim) - used);
      if (!claim.equals("cephfs")) { // which tells none
        assertThat(metrics.of("inodes_used", claim)).as(claim).isPositive();
      }
    }
  }

  /**
   * Metrics in Prometheus' text form.
   *
   * @param text of all
   * @param namespace of the claims
   */
  private record Metrics(String text, String namespace) {
    long of(String name, String claim) {
      Matcher line =
          Pattern.compile(
                  "^kubelet_volume_stats_%s\\{namespace=\"%s\",persistentvolumeclaim=\"%s\"} (\\S+)$"
                      .formatted(name, namespace, claim),
                  Pattern.MULTILINE)
              .matcher(text);
      assertThat(line.find()).as("%s of %s", name, claim).isTrue();
      return (long) Double.parseDouble(line.group(1));
    }
  }
}
