package io.cephcsi.driver.app;

import io.cephcsi.driver.cluster.DaemonThreads;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.http.KubernetesApi;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The labels of a Node object, read from the API of Kubernetes with the service account of the pod.
 * It needs the right to get nodes. Safe for several threads.
 */
final class NodeLabels {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private final KubernetesApi api;

  /** Read from an API. */
  NodeLabels(KubernetesApi api) {
    this.api = api;
  }

  /**
   * Of the cluster that this process is a pod of.
   *
   * @throws ConfigException when it is in no pod
   */
  static NodeLabels ofPod(Map<String, String> environment) {
    return ifInPod(environment)
        .orElseThrow(
            () ->
                new ConfigException(
                    "domainlabels are read from the API of Kubernetes, and this process is in no"
                        + " pod (KUBERNETES_SERVICE_HOST is not set): give the topology with"
                        + " values instead"));
  }

  /** As {@link #ofPod}; empty when this process is in no pod. */
  static Optional<NodeLabels> ifInPod(Map<String, String> environment) {
    return KubernetesApi.ofPod(environment).map(NodeLabels::new);
  }

  /**
   * Asks for the labels of a node. Does not block.
   *
   * @return fails with a {@link VolumeException}, UNAVAILABLE, when the API does not say them
   */
  CompletableFuture<Map<String, String>> of(String node) {
    Deadline deadline = Deadline.after(TIMEOUT);
    return CompletableFuture.supplyAsync(
        () -> read(node, deadline), task -> DaemonThreads.of("node-labels", task).start());
  }

  /** Whatever is wrong with it, right or name, may be put right while this process runs. */
  private Map<String, String> read(String node, Deadline deadline) {
    try {
      return api.labelsOf(node, deadline);
    } catch (VolumeException e) {
      throw new VolumeException(
          Reason.UNAVAILABLE,
          "the labels of node " + node + " are not known: " + e.getMessage(),
          e);
    }
  }
}
