package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.CEPHFS;
import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Snapshots, restores, clones and shallow volumes, on a real kubelet. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class SnapshotsIT {
  private static final int SHALLOW_PODS = 20;

  @ParameterizedTest
  @CsvSource({RBD + ",csi-rbd-snapclass", CEPHFS + ",csi-cephfs-snapclass"})
  void aRestoreHasWhatTheSnapshotHadAndACloneWhatTheVolumeHas(
      String storageClass, String snapshotClass) {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", storageClass, "64Mi");
      TestPod pod = kubernetes.pod("pod").with("data").start();
      pod.run("echo first >/data/file && sync");
      kubernetes.snapshot("snapshot", snapshotClass, "data");
      pod.run("echo second >/data/file && sync");
      kubernetes.claimFrom("VolumeSnapshot", "snapshot", "restored", storageClass, "64Mi");
      kubernetes.claimFrom("PersistentVolumeClaim", "data", "cloned", storageClass, "64Mi");
      TestPod both = kubernetes.pod("both").with("restored").with("cloned").start();
      assertThat(both.run("cat /restored/file /cloned/file")).isEqualTo("first\nsecond");
      both.run("echo third >/restored/file");
      assertThat(pod.run("cat /data/file")).isEqualTo("second");
    }
  }

  @Test
  void manyPodsReadAShallowVolume() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", CEPHFS, "64Mi");
      TestPod pod = kubernetes.pod("pod").with("data").start();
      pod.run("echo first >/data/file && sync");
      kubernetes.snapshot("snapshot", "csi-cephfs-snapclass", "data");
      pod.run("echo second >/data/file && sync");
      String shallow =
          kubernetes.storageClass(CEPHFS, made -> made.addToParameters("backingSnapshot", "true"));
      kubernetes.claim(
          "shallow",
          shallow,
          "64Mi",
          spec ->
              Kubernetes.from(spec.withAccessModes("ReadOnlyMany"), "VolumeSnapshot", "snapshot"));
      List<TestPod> readers = new ArrayList<>();
      for (int i = 0; i < SHALLOW_PODS; i++) {
        readers.add(kubernetes.pod("reader-" + i).with("shallow", "", true).create());
      }
      for (TestPod reader : readers) {
        assertThat(reader.awaitRunning().run("cat /shallow/file")).isEqualTo("first");
      }
    }
  }

  @Test
  void aGroupSnapshotHasEveryVolumeOfItsClaims() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      TestPod pod = kubernetes.pod("pod");
      for (String claim : List.of("one", "two")) {
        kubernetes.claim(claim, RBD, "64Mi");
        kubernetes.patch(claim, "{'metadata': {'labels': {'app': 'db'}}}");
        pod.with(claim);
      }
      pod.start().run("echo first >/one/file && echo first >/two/file && sync");
      kubernetes.apply(
          """
          apiVersion: groupsnapshot.storage.k8s.io/v1beta2
          kind: VolumeGroupSnapshot
          metadata: {name: group}
          spec:
            volumeGroupSnapshotClassName: csi-rbd-groupsnapclass
            source: {selector: {matchLabels: {app: db}}}
          """);
      kubernetes.await(
          "the group snapshot",
          kubernetes.object("groupsnapshot.storage.k8s.io/v1beta2", "VolumeGroupSnapshot", "group"),
          found -> Boolean.TRUE.equals(found.get("status", "readyToUse")));
      pod.run("echo second >/one/file && echo second >/two/file && sync");
      TestPod restored = kubernetes.pod("restored");
      List<String> snapshots = kubernetes.snapshots();
      assertThat(snapshots).hasSize(2);
      for (int i = 0; i < snapshots.size(); i++) {
        kubernetes.claimFrom("VolumeSnapshot", snapshots.get(i), "restored-" + i, RBD, "64Mi");
        restored.with("restored-" + i);
      }
      restored.start();
      assertThat(restored.run("cat /restored-0/file /restored-1/file")).isEqualTo("first\nfirst");
    }
  }
}
