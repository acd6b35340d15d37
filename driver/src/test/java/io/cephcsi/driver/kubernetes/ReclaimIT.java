package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.testing.TestCluster;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** What users ask csi-addons for, and VolumeAttributesClasses, on a real kubelet. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class ReclaimIT {
  private static final long MIB = 1L << 20;

  @Test
  void aJobFreesTheSpaceOfDeletedFilesUnderAPod() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", RBD, "256Mi");
      TestPod pod = kubernetes.pod("pod").with("data").start();
      fillAndDelete(pod);
      reclaim(kubernetes);
      assertThat(used(kubernetes)).isLessThan(100 * MIB);
    }
  }

  @Test
  void aJobFreesTheSpaceOfDeletedFilesWithoutAPod() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", RBD, "256Mi");
      TestPod pod = kubernetes.pod("pod").with("data").start();
      fillAndDelete(pod);
      pod.delete();
      kubernetes.awaitDetached();
      reclaim(kubernetes);
      assertThat(used(kubernetes)).isLessThan(100 * MIB);
    }
  }

  @Test
  void anAttributesClassChangesTheImage() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", RBD, "64Mi");
      String image = kubernetes.image("data");
      kubernetes.patch("data", "{'spec': {'volumeAttributesClassName': 'silver'}}");
      kubernetes.await(
          "the class silver",
          kubernetes.claims("data"),
          found -> "silver".equals(found.getStatus().getCurrentVolumeAttributesClassName()));
      assertThat(TestCluster.shared().rbd("image-meta", "ls", "rbd/" + image))
          .contains("rbd_qos_iops_limit");
    }
  }

  private static void fillAndDelete(TestPod pod) {
    pod.run("dd if=/dev/urandom of=/data/big bs=1M count=100 && sync && rm /data/big && sync");
  }

  private static void reclaim(Kubernetes kubernetes) {
    assertThat(used(kubernetes)).isGreaterThan(120 * MIB);
    kubernetes.apply(
        """
        apiVersion: csiaddons.openshift.io/v1alpha1
        kind: ReclaimSpaceJob
        metadata: {name: job}
        spec: {target: {persistentVolumeClaim: data}, backOffLimit: 50, retryDeadlineSeconds: 100}
        """);
    kubernetes.await(
        "the job",
        kubernetes.object("csiaddons.openshift.io/v1alpha1", "ReclaimSpaceJob", "job"),
        job -> "Succeeded".equals(job.get("status", "result")));
  }

  private static long used(Kubernetes kubernetes) {
    String usage =
        TestCluster.shared().rbd("du", "rbd/" + kubernetes.image("data"), "--format", "json");
    return PoolState.json(usage).at("/images/0/used_size").asLong();
  }
}
