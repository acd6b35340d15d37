package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.client.dsl.RollableScalableResource;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Workloads with many pods, on a real kubelet. */
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
}
