package io.cephcsi.driver.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.awaitility.Awaitility;

/** The driver of the cluster that ci/kubernetes started: pods of the chart, or processes. */
final class DriverPods {
  /** The namespace of the chart's release. */
  static final String NAMESPACE = "ceph-csi";

  /** The variable that tells where the driver runs: in pods, or on the host. */
  private static final String WHERE = "CI_KUBERNETES_DRIVER";

  private static final Duration TIME = Duration.ofMinutes(2);

  private final KubernetesClient client;

  DriverPods(KubernetesClient client) {
    this.client = client;
  }

  /** Whether the driver runs in pods. */
  static boolean inPods() {
    return "pods".equals(System.getenv(WHERE));
  }

  /** The pods of a component, "nodeplugin" or "provisioner", that are not being deleted. */
  List<Pod> of(String component) {
    return client
        .pods()
        .inNamespace(NAMESPACE)
        .withLabel("component", component)
        .list()
        .getItems()
        .stream()
        .filter(pod -> pod.getMetadata().getDeletionTimestamp() == null)
        .toList();
  }

  /** The pod whose sidecar has a lease, such as "rbd-csi-ceph-com", once one of them has it. */
  Pod leader(String lease) {
    return Awaitility.await()
        .atMost(TIME)
        .until(
            () -> {
              String holder = holder(lease);
              return of("provisioner").stream()
                  .filter(pod -> holder.contains(pod.getMetadata().getName()))
                  .findFirst();
            },
            Optional::isPresent)
        .orElseThrow();
  }

  /** Who has a lease; "" if nobody has. */
  String holder(String lease) {
    return String.valueOf(
        client
            .leases()
            .inNamespace(NAMESPACE)
            .withName(lease)
            .require()
            .getSpec()
            .getHolderIdentity());
  }

  /** What a shell's script prints in the container of the driver on each node. */
  List<String> onNodes(String script) {
    return of("nodeplugin").stream()
        .map(
            pod ->
                TestPod.run(
                    client
                        .pods()
                        .inNamespace(NAMESPACE)
                        .withName(pod.getMetadata().getName())
                        .inContainer("csi-plugin"),
                    script))
        .toList();
  }

  /** Ends a pod at once, as the end of its node does. */
  void end(Pod pod) {
    client.resource(pod).withGracePeriod(0).delete();
  }

  /** Waits until as many pods as should be there are ready, and no other. */
  void awaitReady() {
    Awaitility.await()
        .atMost(TIME)
        .untilAsserted(
            () -> {
              assertThat(client.apps().deployments().inNamespace(NAMESPACE).list().getItems())
                  .allMatch(
                      one ->
                          one.getSpec().getReplicas().equals(one.getStatus().getReadyReplicas())
                              && one.getSpec().getReplicas().equals(one.getStatus().getReplicas())
                              && one.getSpec()
                                  .getReplicas()
                                  .equals(one.getStatus().getUpdatedReplicas())
                              && one.getMetadata()
                                  .getGeneration()
                                  .equals(one.getStatus().getObservedGeneration()));
              assertThat(client.apps().daemonSets().inNamespace(NAMESPACE).list().getItems())
                  .allMatch(
                      one ->
                          one.getStatus()
                                  .getDesiredNumberScheduled()
                                  .equals(one.getStatus().getNumberReady())
                              && one.getStatus()
                                  .getDesiredNumberScheduled()
                                  .equals(one.getStatus().getUpdatedNumberScheduled())
                              && one.getMetadata()
                                  .getGeneration()
                                  .equals(one.getStatus().getObservedGeneration()));
            });
  }

  /**
   * Ends the process of the driver, as a crash does it; it is started again.
   *
   * @param component "controller" or "node"
   */
  void kill(String component) throws IOException {
    if (!inPods()) {
      Path file = Kubernetes.folder().resolve("driver/" + component + ".pid");
      process(Long.parseLong(Files.readString(file).strip())).destroyForcibly();
      return;
    }
    for (Pod pod : of(component.equals("node") ? "nodeplugin" : "provisioner")) {
      driverOf(pod).destroyForcibly();
    }
  }

  private static ProcessHandle process(long pid) {
    return ProcessHandle.of(pid).orElseThrow();
  }

  /** The JVM in a pod, which is in the pod's cgroup. */
  private static ProcessHandle driverOf(Pod pod) {
    String uid = pod.getMetadata().getUid();
    return ProcessHandle.allProcesses()
        .filter(process -> process.info().command().orElse("").endsWith("/java"))
        .filter(process -> cgroup(process).replace('_', '-').contains(uid))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no driver in " + pod.getMetadata().getName()));
  }

  private static String cgroup(ProcessHandle process) {
    try {
      return Files.readString(Path.of("/proc/" + process.pid() + "/cgroup"));
    } catch (IOException e) {
      return ""; // it ended
    }
  }
}
