package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.CEPHFS;
import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Claims that ask for more, on a real kubelet. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class GrowthIT {
  private static final String KIB = "df -kP /data | tail -n 1 | awk '{print $2}'";

  @Test
  void xfsGrowsUnderAPod() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      String xfs =
          kubernetes.storageClass(
              RBD, made -> made.addToParameters("csi.storage.k8s.io/fstype", "xfs"));
      kubernetes.claim("data", xfs, "320Mi");
      TestPod pod = kubernetes.pod("pod").with("data").start();
      kubernetes.grow("data", "512Mi");
      assertThat(Integer.parseInt(pod.run(KIB))).isGreaterThan(400 << 10);
    }
  }

  /** A mounted ext4 grows where the driver has CAP_SYS_RESOURCE; else when it is staged next. */
  @Test
  void ext4GrowsWhileNoPodHasIt() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", RBD, "256Mi");
      TestPod pod = kubernetes.pod("pod").with("data").start();
      pod.run("echo kept >/data/file && sync");
      assertThat(Integer.parseInt(pod.run(KIB))).isLessThan(256 << 10);
      pod.delete();
      kubernetes.awaitDetached();
      kubernetes.ask("data", "1Gi");
      kubernetes.await(
          "an image of 1 GiB",
          kubernetes.claims("data"),
          found ->
              found.getStatus().getConditions().stream()
                  .anyMatch(one -> "FileSystemResizePending".equals(one.getType())));
      TestPod next = kubernetes.pod("next").with("data").start();
      assertThat(Integer.parseInt(next.run(KIB))).isGreaterThan(900 << 10);
      assertThat(next.run("cat /data/file")).isEqualTo("kept");
      kubernetes.grow("data", "1Gi");
    }
  }

  @Test
  void aBlockVolumeGrowsUnderAPod() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("raw", RBD, "64Mi", spec -> spec.withVolumeMode("Block"));
      TestPod pod = kubernetes.pod("pod").withBlock("raw").start();
      kubernetes.grow("raw", "128Mi");
      assertThat(pod.run("blockdev --getsize64 /dev/raw")).isEqualTo("134217728");
    }
  }

  @Test
  void cephFsGrowsUnderAPod() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", CEPHFS, "64Mi");
      TestPod pod = kubernetes.pod("pod").with("data").start();
      kubernetes.grow("data", "128Mi");
      assertThat(pod.run(KIB)).isEqualTo("131072");
    }
  }
}
