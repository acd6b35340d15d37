package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.CEPHFS;
import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Drivers that end while they are needed, on a real kubelet. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class RestartsIT {
  @ParameterizedTest
  @ValueSource(strings = {RBD, CEPHFS})
  void podsGoOnWhileTheNodePluginIsKilledAndComesBack(String storageClass) throws IOException {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", storageClass, "64Mi");
      TestPod pod = kubernetes.pod("pod").with("data").start();
      pod.run("echo before >/data/before && sync");
      kubernetes.driver().kill("node");
      pod.run("echo meanwhile >/data/meanwhile && sync");
      pod.delete();
      TestPod next = kubernetes.pod("next").with("data").start();
      assertThat(next.run("cat /data/before /data/meanwhile")).isEqualTo("before\nmeanwhile");
    }
  }

  @Test
  void claimsAreBoundThoughTheControllerIsKilledMeanwhile() throws IOException {
    try (Kubernetes kubernetes = new Kubernetes()) {
      for (int i = 0; i < 6; i++) {
        kubernetes.claim("data-" + i, i % 2 == 0 ? RBD : CEPHFS, "64Mi");
        if (i == 2) {
          kubernetes.driver().kill("controller");
        }
      }
      for (int i = 0; i < 6; i++) {
        assertThat(kubernetes.bound("data-" + i)).isNotEmpty();
      }
    }
  }
}
