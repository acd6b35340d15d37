package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.CEPHFS;
import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Claims and pods on a real kubelet. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class ClaimsIT {
  @ParameterizedTest
  @ValueSource(strings = {RBD, CEPHFS})
  void theNextPodFindsWhatTheLastOneWrote(String storageClass) {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", storageClass, "64Mi");
      TestPod writer = kubernetes.pod("writer").with("data").start();
      writer.run("echo hello >/data/file && sync");
      writer.delete();
      TestPod reader = kubernetes.pod("reader").with("data").start();
      assertThat(reader.run("cat /data/file")).isEqualTo("hello");
    }
  }

  @Test
  void aBlockVolumeKeepsItsBytes() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("raw", RBD, "64Mi", spec -> spec.withVolumeMode("Block"));
      TestPod writer = kubernetes.pod("writer").withBlock("raw").start();
      assertThat(writer.run("blockdev --getsize64 /dev/raw")).isEqualTo("67108864");
      writer.run("printf bytes | dd of=/dev/raw bs=1 seek=1048576 conv=fsync");
      writer.delete();
      TestPod reader = kubernetes.pod("reader").withBlock("raw").start();
      assertThat(reader.run("dd if=/dev/raw bs=1 skip=1048576 count=5")).isEqualTo("bytes");
    }
  }

  /** Kubelet leaves the group to the driver, which stages a volume once for all pods of a node. */
  @ParameterizedTest
  @ValueSource(strings = {RBD, CEPHFS})
  void everyPodOfANodeGetsItsFsGroup(String storageClass) {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", storageClass, "64Mi");
      TestPod one = kubernetes.pod("one").with("data").as(1000, 2000).start();
      one.run("echo one >/data/one");
      TestPod two = kubernetes.pod("two").with("data").as(1001, 3000).start();
      two.run("echo two >/data/two");
      assertThat(two.run("cat /data/one")).isEqualTo("one");
    }
  }

  @Test
  void podsOfCephFsShareTheirFiles() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", CEPHFS, "64Mi", spec -> spec.withAccessModes("ReadWriteMany"));
      TestPod one = kubernetes.pod("one").with("data", "inside", false).start();
      TestPod two = kubernetes.pod("two").with("data").start();
      one.run("echo hello >/data/file");
      assertThat(two.run("cat /data/inside/file")).isEqualTo("hello");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {RBD, CEPHFS})
  void anEphemeralVolumeGoesWithItsPod(String storageClass) {
    try (Kubernetes kubernetes = new Kubernetes()) {
      TestPod pod = kubernetes.pod("pod").withEphemeral("scratch", storageClass, "64Mi").start();
      pod.run("echo hello >/scratch/file");
      pod.delete();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {RBD, CEPHFS})
  void aClaimCanWaitForItsFirstPod(String like) {
    try (Kubernetes kubernetes = new Kubernetes()) {
      String waiting =
          kubernetes.storageClass(like, made -> made.withVolumeBindingMode("WaitForFirstConsumer"));
      kubernetes.claim("data", waiting, "64Mi");
      TestPod pod = kubernetes.pod("pod").with("data").start();
      pod.run("echo hello >/data/file");
    }
  }

  @Test
  void aClaimForOnePodHasOneAtATime() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", RBD, "64Mi", spec -> spec.withAccessModes("ReadWriteOncePod"));
      TestPod one = kubernetes.pod("one").with("data").start();
      one.run("echo hello >/data/file && sync");
      TestPod two = kubernetes.pod("two").with("data").create();
      kubernetes.await(
          "two to wait",
          two.resource(),
          pod ->
              pod.getStatus().getConditions().stream()
                  .anyMatch(condition -> "Unschedulable".equals(condition.getReason())));
      one.delete();
      assertThat(two.awaitRunning().run("cat /data/file")).isEqualTo("hello");
    }
  }
}
