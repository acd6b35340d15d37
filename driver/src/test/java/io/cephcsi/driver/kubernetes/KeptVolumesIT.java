package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.CEPHFS;
import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.TestCluster;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.client.dsl.Resource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Volumes and snapshots that outlive their claims, or were there before, on a real kubelet. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class KeptVolumesIT {
  private static final String SNAPSHOTS = "snapshot.storage.k8s.io/v1";

  /** As users do it without alpha features: the snapshot's content is made once more there. */
  @ParameterizedTest
  @CsvSource({RBD + ",csi-rbd-snapclass", CEPHFS + ",csi-cephfs-snapclass"})
  void aSnapshotIsRestoredInAnotherNamespace(String storageClass, String snapshotClass) {
    try (Kubernetes source = new Kubernetes()) {
      source.claim("data", storageClass, "64Mi");
      TestPod pod = source.pod("pod").with("data").start();
      pod.run("echo first >/data/file && sync");
      source.snapshot("snapshot", snapshotClass, "data");
      String content =
          source
              .object(SNAPSHOTS, "VolumeSnapshot", "snapshot")
              .require()
              .get("status", "boundVolumeSnapshotContentName");
      GenericKubernetesResource found =
          source
              .client()
              .genericKubernetesResources(SNAPSHOTS, "VolumeSnapshotContent")
              .withName(content)
              .require();
      String copy = source.namespace() + "-copy";
      try (Kubernetes target = Kubernetes.another()) {
        target.applyToCluster(
            """
            apiVersion: snapshot.storage.k8s.io/v1
            kind: VolumeSnapshotContent
            metadata: {name: %s}
            spec:
              deletionPolicy: Retain
              driver: %s
              source: {snapshotHandle: "%s"}
              volumeSnapshotRef: {name: imported, namespace: %s}
            """
                .formatted(
                    copy,
                    found.<String>get("spec", "driver"),
                    found.<String>get("status", "snapshotHandle"),
                    target.namespace()));
        target.apply(
            """
            apiVersion: snapshot.storage.k8s.io/v1
            kind: VolumeSnapshot
            metadata: {name: imported}
            spec: {source: {volumeSnapshotContentName: %s}}
            """
                .formatted(copy));
        target.claimFrom("VolumeSnapshot", "imported", "restored", storageClass, "64Mi");
        TestPod reader = target.pod("reader").with("restored").start();
        assertThat(reader.run("cat /restored/file")).isEqualTo("first");
      }
      Resource<GenericKubernetesResource> copied =
          source
              .client()
              .genericKubernetesResources(SNAPSHOTS, "VolumeSnapshotContent")
              .withName(copy);
      copied.delete();
      source.awaitGone("the copy", copied);
      // The snapshot is not deleted with its copy.
      source.claimFrom("VolumeSnapshot", "snapshot", "again", storageClass, "64Mi");
      TestPod reader = source.pod("reader").with("again").start();
      assertThat(reader.run("cat /again/file")).isEqualTo("first");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {RBD, CEPHFS})
  void aRetainedVolumeIsThereForTheNextClaim(String like) {
    try (Kubernetes kubernetes = new Kubernetes()) {
      String retained = kubernetes.storageClass(like, made -> made.withReclaimPolicy("Retain"));
      kubernetes.claim("data", retained, "64Mi");
      TestPod pod = kubernetes.pod("pod").with("data").start();
      pod.run("echo kept >/data/file && sync");
      String name = kubernetes.bound("data");
      pod.delete();
      kubernetes.deleteClaim("data");
      Resource<PersistentVolume> volume = kubernetes.client().persistentVolumes().withName(name);
      kubernetes.await(
          "the volume released", volume, found -> "Released".equals(found.getStatus().getPhase()));
      volume.edit(
          found -> {
            found.getSpec().setClaimRef(null);
            return found;
          });
      kubernetes.claim("again", retained, "64Mi", spec -> spec.withVolumeName(name));
      TestPod next = kubernetes.pod("next").with("again").start();
      assertThat(next.run("cat /again/file")).isEqualTo("kept");
      volume.edit(
          found -> {
            found.getSpec().setPersistentVolumeReclaimPolicy("Delete");
            return found;
          });
    }
  }

  @Test
  void aStaticImageIsServedAndStaysWhenItsVolumeIsDeleted() {
    TestCluster ceph = TestCluster.shared();
    try (Kubernetes kubernetes = new Kubernetes()) {
      String image = kubernetes.namespace();
      ceph.rbd("create", "--size", "64", "rbd/" + image);
      String attributes =
          "{clusterID: test, pool: rbd, imageFeatures: layering, staticVolume: 'true',"
              + " mounter: fuse}";
      serveStatic(kubernetes, "rbd.csi.ceph.com", image, attributes, "csi-rbd-secret");
      assertThat(ceph.rbd("info", "rbd/" + image)).contains("64 MiB");
      ceph.rbd("rm", "rbd/" + image);
    }
  }

  @Test
  void aStaticDirectoryIsServedAndStaysWhenItsVolumeIsDeleted() {
    TestCluster ceph = TestCluster.shared();
    try (Kubernetes kubernetes = new Kubernetes()) {
      String name = kubernetes.namespace();
      ceph.ceph("fs", "subvolume", "create", "cephfs", name, "--group_name", "csi");
      String root =
          ceph.ceph("fs", "subvolume", "getpath", "cephfs", name, "--group_name", "csi").strip();
      String attributes =
          "{clusterID: test, fsName: cephfs, rootPath: '%s', staticVolume: 'true', mounter: fuse}"
              .formatted(root);
      serveStatic(kubernetes, "cephfs.csi.ceph.com", name, attributes, "csi-cephfs-secret");
      assertThat(ceph.ceph("fs", "subvolume", "info", "cephfs", name, "--group_name", "csi"))
          .contains(root);
      ceph.ceph("fs", "subvolume", "rm", "cephfs", name, "--group_name", "csi");
    }
  }

  /** A volume that an administrator wrote is mounted twice, written, and taken out of the API. */
  private static void serveStatic(
      Kubernetes kubernetes, String driver, String handle, String attributes, String secret) {
    String name = kubernetes.namespace() + "-static";
    kubernetes.applyToCluster(
        """
        apiVersion: v1
        kind: PersistentVolume
        metadata: {name: %s}
        spec:
          accessModes: [ReadWriteOnce]
          capacity: {storage: 64Mi}
          storageClassName: ""
          persistentVolumeReclaimPolicy: Retain
          claimRef: {name: data, namespace: %s}
          csi:
            driver: %s
            volumeHandle: %s
            volumeAttributes: %s
            nodeStageSecretRef: {name: %s, namespace: ceph-csi}
        """
            .formatted(name, kubernetes.namespace(), driver, handle, attributes, secret));
    kubernetes.claim("data", "", "64Mi", spec -> spec.withVolumeName(name));
    TestPod writer = kubernetes.pod("writer").with("data").start();
    writer.run("echo kept >/data/file && sync");
    writer.delete();
    TestPod reader = kubernetes.pod("reader").with("data").start();
    assertThat(reader.run("cat /data/file")).isEqualTo("kept");
    reader.delete();
    kubernetes.awaitDetached();
    kubernetes.deleteClaim("data");
    Resource<PersistentVolume> volume = kubernetes.client().persistentVolumes().withName(name);
    volume.delete();
    kubernetes.awaitGone("the static volume", volume);
  }
}
