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
      assertThat(used(kubernetes, "data")).isLessThan(40 * MIB);
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
      assertThat(used(kubernetes, "data")).isLessThan(40 * MIB);
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

  /** The attachment is still there then, and kubelet unmounts: whom the job finds is by chance. */
  @Test
  void aJobRightAfterThePodWentFreesTheSpaceOfDeletedFiles() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", RBD, "256Mi");
      for (int round = 0; round < 3; round++) {
        TestPod pod = kubernetes.pod("pod-" + round).with("data").start();
        fillAndDelete(pod);
        pod.delete();
        reclaim(kubernetes, "job-" + round);
        assertThat(used(kubernetes, "data")).as("round %d", round).isLessThan(40 * MIB);
      }
    }
  }

  private static void fillAndDelete(TestPod pod) {
    pod.run("dd if=/dev/urandom of=/data/big bs=1M count=100 && sync && rm /data/big && sync");
  }

  private static void reclaim(Kubernetes kubernetes) {
    reclaim(kubernetes, "job");
  }

  private static void reclaim(Kubernetes kubernetes, String name) {
    assertThat(used(kubernetes, "data")).isGreaterThan(100 * MIB);
    kubernetes.apply(
        """
        apiVersion: csiaddons.openshift.io/v1alpha1
        kind: ReclaimSpaceJob
        metadata: {name: %s}
        spec: {target: {persistentVolumeClaim: data}, backOffLimit: 50, retryDeadlineSeconds: 100}
        """
            .formatted(name));
    kubernetes.await(
        name,
        kubernetes.object("csiaddons.openshift.io/v1alpha1", "ReclaimSpaceJob", name),
        job -> "Succeeded".equals(job.get("status", "result")));
  }

  /** What {@code rbd du} says of a claim's image, in bytes. */
  static long used(Kubernetes kubernetes, String claim) {
    String usage =
        TestCluster.shared().rbd("du", "rbd/" + kubernetes.image(claim), "--format", "json");
    return PoolState.json(usage).at("/images/0/used_size").asLong();
  }
}
