package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.TestCluster;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.client.dsl.Resource;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Volume groups of csi-addons, with its manager and sidecar. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class GroupsIT {
  private static final String REPLICATION = "replication.storage.openshift.io/v1alpha1";
  private static final String CONTENT = "VolumeGroupReplicationContent";

  /**
   * The manager makes groups for replication, which this driver has not. The test stands for the
   * part of it that asks for the replication: its VolumeGroupReplication is "external".
   */
  @Test
  void aGroupOfClaimsIsMadeChangedAndRemovedAndItsVolumesStay() {
    TestCluster ceph = TestCluster.shared();
    try (Kubernetes kubernetes = new Kubernetes()) {
      for (String claim : List.of("one", "two", "three")) {
        kubernetes.claim(claim, RBD, "64Mi");
      }
      String name = kubernetes.namespace();
      kubernetes.applyToCluster(
          """
          apiVersion: %s
          kind: VolumeGroupReplicationClass
          metadata: {name: %s}
          spec:
            provisioner: rbd.csi.ceph.com
            parameters:
              replication.storage.openshift.io/group-replication-secret-name: csi-rbd-secret
              replication.storage.openshift.io/group-replication-secret-namespace: ceph-csi
              clusterID: test
              pool: rbd
          """
              .formatted(REPLICATION, name));
      kubernetes.apply(
          """
          apiVersion: %s
          kind: VolumeGroupReplication
          metadata: {name: group, finalizers: [test.ceph-csi/kept]}
          spec:
            external: true
            autoResync: false
            replicationState: primary
            volumeGroupReplicationClassName: %s
            volumeReplicationClassName: none
            source: {selector: {matchLabels: {app: db}}}
          """
              .formatted(REPLICATION, name));
      Resource<GenericKubernetesResource> owner =
          kubernetes.object(REPLICATION, "VolumeGroupReplication", "group");
      Resource<GenericKubernetesResource> content =
          kubernetes.client().genericKubernetesResources(REPLICATION, CONTENT).withName(name);
      try {
        kubernetes.applyToCluster(
            """
            apiVersion: %s
            kind: %s
            metadata: {name: %s}
            spec:
              provisioner: rbd.csi.ceph.com
              volumeGroupReplicationClassName: %s
              volumeGroupReplicationRef: {name: group, namespace: %s, uid: %s}
              source: {volumeHandles: ["%s", "%s"]}
            """
                .formatted(
                    REPLICATION,
                    CONTENT,
                    name,
                    name,
                    name,
                    owner.require().getMetadata().getUid(),
                    handle(kubernetes, "one"),
                    handle(kubernetes, "two")));
        kubernetes.await(
            "the group's id",
            content,
            found -> {
              String id = found.get("spec", "volumeGroupReplicationHandle");
              return id != null && !id.isEmpty();
            });
        String group = ceph.rbd("group", "ls", "rbd").strip();
        assertThat(group).isNotEmpty().doesNotContain("\n");
        assertThat(ceph.rbd("group", "image", "list", "rbd/" + group))
            .contains(kubernetes.image("one"), kubernetes.image("two"))
            .doesNotContain(kubernetes.image("three"));
        content.edit(
            found -> {
              found.setAdditionalProperty("spec", withMembers(found, handle(kubernetes, "three")));
              return found;
            });
        kubernetes.awaitTrue(
            "the third volume in the group, alone",
            () ->
                ceph.rbd("group", "image", "list", "rbd/" + group)
                    .strip()
                    .equals("rbd/" + kubernetes.image("three")));
        owner.delete();
        content.delete();
        kubernetes.awaitGone("the content of the group", content);
        assertThat(ceph.rbd("group", "ls", "rbd").strip()).isEmpty();
        assertThat(ceph.rbd("ls", "rbd"))
            .contains(kubernetes.image("one"), kubernetes.image("two"), kubernetes.image("three"));
      } finally {
        owner.edit(
            found -> {
              found.getMetadata().setFinalizers(List.of());
              return found;
            });
        kubernetes
            .client()
            .genericKubernetesResources(REPLICATION, "VolumeGroupReplicationClass")
            .withName(name)
            .delete();
      }
    }
  }

  private static Object withMembers(GenericKubernetesResource content, String... handles) {
    var spec = new java.util.LinkedHashMap<>(content.<java.util.Map<String, Object>>get("spec"));
    spec.put("source", java.util.Map.of("volumeHandles", List.of(handles)));
    return spec;
  }

  private static String handle(Kubernetes kubernetes, String claim) {
    return kubernetes
        .client()
        .persistentVolumes()
        .withName(kubernetes.bound(claim))
        .require()
        .getSpec()
        .getCsi()
        .getVolumeHandle();
  }
}
