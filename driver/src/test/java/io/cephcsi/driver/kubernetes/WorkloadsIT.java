package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.CEPHFS;
import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.client.dsl.RollableScalableResource;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Workloads with many pods, and pods that are moved or deleted by force, on a real kubelet. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class WorkloadsIT {
  private static final int REPLICAS = 10;
  private static final Duration TIME = Duration.ofMinutes(5);

  @Test
  void aStatefulSetOfTenKeepsItsFilesInARollingRestart() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.apply(
          """
          apiVersion: apps/v1
          kind: StatefulSet
          metadata: {name: db}
          spec:
            replicas: %d
            podManagementPolicy: Parallel
            selector: {matchLabels: {app: db}}
            persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}
            template:
              metadata: {labels: {app: db}}
              spec:
                terminationGracePeriodSeconds: 0
                automountServiceAccountToken: false
                containers:
                - name: busybox
                  image: local/busybox:1
                  imagePullPolicy: Never
                  command: [sh, -c, "echo $HOSTNAME >>/data/starts && sync && exec sleep 2147483647"]
                  volumeMounts: [{name: data, mountPath: /data}]
            volumeClaimTemplates:
            - metadata: {name: data}
              spec:
                accessModes: [ReadWriteOnce]
                storageClassName: %s
                resources: {requests: {storage: 64Mi}}
          """
              .formatted(REPLICAS, RBD));
      var set = kubernetes.client().apps().statefulSets().inNamespace(kubernetes.namespace());
      awaitRolledOut(set.withName("db"));
      set.withName("db").rolling().restart();
      awaitRolledOut(set.withName("db"));
      for (int i = 0; i < REPLICAS; i++) {
        String name = "db-" + i;
        assertThat(kubernetes.pod(name).run("cat /data/starts")).isEqualTo(name + "\n" + name);
      }
      set.withName("db").delete();
    }
  }

  private static void awaitRolledOut(RollableScalableResource<StatefulSet> set) {
    Awaitility.await()
        .atMost(TIME)
        .untilAsserted(
            () -> {
              StatefulSet found = set.require();
              assertThat(found.getStatus().getObservedGeneration())
                  .isEqualTo(found.getMetadata().getGeneration());
              assertThat(found.getStatus().getUpdatedReplicas()).isEqualTo(REPLICAS);
              assertThat(found.getStatus().getReadyReplicas()).isEqualTo(REPLICAS);
            });
  }

  /** The pod goes from the API at once; kubelet unmounts its volumes after that. */
  @ParameterizedTest
  @ValueSource(strings = {RBD, CEPHFS})
  void theNextPodHasTheFilesOfOneThatWasDeletedByForce(String storageClass) {
    try (Kubernetes kubernetes = new Kubernetes()) {
      kubernetes.claim("data", storageClass, "64Mi");
      for (int i = 0; i < 3; i++) {
        TestPod pod = kubernetes.pod("pod-" + i).with("data").start();
        pod.run("echo " + i + " >>/data/file && sync");
        pod.delete();
      }
      TestPod last = kubernetes.pod("last").with("data").start();
      assertThat(last.run("cat /data/file")).isEqualTo("0\n1\n2");
    }
  }

  @Test
  void podsOfADrainedNodeComeBackToTheirFiles() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      for (String claim : new String[] {RBD, CEPHFS}) {
        kubernetes.claim(claim, claim, "64Mi");
      }
      kubernetes.apply(
          """
          apiVersion: apps/v1
          kind: Deployment
          metadata: {name: app}
          spec:
            strategy: {type: Recreate}
            selector: {matchLabels: {app: app}}
            template:
              metadata: {labels: {app: app}}
              spec:
                terminationGracePeriodSeconds: 1
                automountServiceAccountToken: false
                containers:
                - name: busybox
                  image: local/busybox:1
                  imagePullPolicy: Never
                  command: [sh, -c, "date >>/rbd/starts; date >>/cephfs/starts; sync; exec sleep 2147483647"]
                  volumeMounts: [{name: rbd, mountPath: /rbd}, {name: cephfs, mountPath: /cephfs}]
                volumes:
                - {name: rbd, persistentVolumeClaim: {claimName: %s}}
                - {name: cephfs, persistentVolumeClaim: {claimName: %s}}
          """
              .formatted(RBD, CEPHFS));
      TestPod first = kubernetes.pod(runningPod(kubernetes, ""));
      assertThat(first.run("cat /rbd/starts /cephfs/starts | wc -l")).isEqualTo("2");
      Node node = kubernetes.client().nodes().list().getItems().get(0);
      var cordoned = kubernetes.client().nodes().withName(node.getMetadata().getName());
      cordoned.edit(one -> unschedulable(one, true));
      try {
        assertThat(first.resource().evict()).isTrue();
        kubernetes.awaitGone("the evicted pod", first.resource());
        kubernetes.awaitDetached();
      } finally {
        cordoned.edit(one -> unschedulable(one, false));
      }
      TestPod second = kubernetes.pod(runningPod(kubernetes, first.name()));
      assertThat(second.run("cat /rbd/starts /cephfs/starts | wc -l")).isEqualTo("4");
    }
  }

  private static Node unschedulable(Node node, boolean so) {
    node.getSpec().setUnschedulable(so);
    return node;
  }

  /** The name of the Deployment's pod, other than one of before. */
  private static String runningPod(Kubernetes kubernetes, String before) {
    return Awaitility.await()
        .atMost(TIME)
        .until(
            () ->
                kubernetes
                    .client()
                    .pods()
                    .inNamespace(kubernetes.namespace())
                    .withLabel("app", "app")
                    .list()
                    .getItems()
                    .stream()
                    .filter(pod -> "Running".equals(pod.getStatus().getPhase()))
                    .map(pod -> pod.getMetadata().getName())
                    .filter(name -> !name.equals(before))
                    .findFirst()
                    .orElse(""),
            name -> !name.isEmpty());
  }
}
