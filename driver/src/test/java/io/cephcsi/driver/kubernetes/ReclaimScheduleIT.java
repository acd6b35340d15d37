package io.cephcsi.driver.kubernetes;

import static io.cephcsi.driver.kubernetes.Kubernetes.RBD;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Space that is reclaimed by schedule: csi-addons wants cron's words, which know no seconds. */
@EnabledIfEnvironmentVariable(
    named = Kubernetes.FOLDER,
    matches = ".+",
    disabledReason = Kubernetes.SKIPPED)
class ReclaimScheduleIT {
  private static final String ADDONS = "csiaddons.openshift.io/v1alpha1";
  private static final String SCHEDULE = "reclaimspace.csiaddons.openshift.io/schedule";
  private static final Duration TIME = Duration.ofMinutes(4);

  /** One claim by a cron job, one by its own annotation, one by that of its class: all at once. */
  @Test
  void cronJobsAndAnnotationsOfClaimsAndClassesFreeSpace() {
    try (Kubernetes kubernetes = new Kubernetes()) {
      String annotated =
          kubernetes.storageClass(
              RBD,
              made -> made.editMetadata().addToAnnotations(SCHEDULE, "* * * * *").endMetadata());
      kubernetes.claim("by-job", RBD, "256Mi");
      kubernetes.claim("by-claim", RBD, "256Mi");
      kubernetes.claim("by-class", annotated, "256Mi");
      TestPod pod = kubernetes.pod("pod").with("by-job").with("by-claim").with("by-class").start();
      for (String claim : new String[] {"by-job", "by-claim", "by-class"}) {
        pod.run(
            "cd /%s && dd if=/dev/urandom of=big bs=1M count=60 && sync && rm big && sync"
                .formatted(claim));
      }
      kubernetes.apply(
          """
          apiVersion: %s
          kind: ReclaimSpaceCronJob
          metadata: {name: by-job}
          spec:
            schedule: "* * * * *"
            concurrencyPolicy: Forbid
            jobTemplate:
              spec: {backOffLimit: 6, retryDeadlineSeconds: 100, target: {persistentVolumeClaim: by-job}}
          """
              .formatted(ADDONS));
      kubernetes.patch(
          "by-claim", "{'metadata': {'annotations': {'%s': '* * * * *'}}}".formatted(SCHEDULE));
      for (String claim : new String[] {"by-job", "by-claim", "by-class"}) {
        Awaitility.await()
            .atMost(TIME)
            .pollInterval(Duration.ofSeconds(2))
            .untilAsserted(
                () -> assertThat(ReclaimIT.used(kubernetes, claim)).isLessThan(40 << 20));
      }
      assertThat(
              kubernetes
                  .object(ADDONS, "ReclaimSpaceCronJob", "by-job")
                  .require()
                  .<Object>get("status", "lastSuccessfulTime"))
          .isNotNull();
    }
  }
}
