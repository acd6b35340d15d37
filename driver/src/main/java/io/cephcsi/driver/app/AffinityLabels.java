package io.cephcsi.driver.app;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The labels of a node by which it reads from what is near: those of the configured topology, and,
 * where that lacks one, those of the Node object in Kubernetes. These are asked for until they are
 * known, then kept; that they are not known keeps nobody from a volume. Safe for several threads.
 */
final class AffinityLabels implements Function<List<String>, Map<String, String>> {
  private static final Logger LOG = LoggerFactory.getLogger(AffinityLabels.class);
  private static final long PATIENCE_SECONDS = 5;

  private final String node;
  private final Map<String, String> topology;
  private final Optional<NodeLabels> api;
  private volatile Map<String, String> known = Map.of();

  /**
   * @param node the name of the Node object
   * @param topology the labels that are configured; they precede
   * @param api tells the others; empty outside of Kubernetes
   */
  AffinityLabels(String node, Map<String, String> topology, Optional<NodeLabels> api) {
    this.node = node;
    this.topology = topology;
    this.api = api;
  }

  /** Of the node that a driver serves. */
  static AffinityLabels of(DriverConfig.Driver driver) {
    return new AffinityLabels(
        driver.nodeId(), driver.nodeSettings().topology(), NodeLabels.ifInPod(System.getenv()));
  }

  @Override
  public Map<String, String> apply(List<String> asked) {
    if (topology.keySet().containsAll(asked)) {
      return topology;
    }
    Map<String, String> all = new HashMap<>(ofNodeObject());
    all.putAll(topology);
    return all;
  }

  private Map<String, String> ofNodeObject() {
    if (known.isEmpty() && api.isPresent()) {
      try {
        known = api.get().of(node).orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
      } catch (CompletionException e) {
        LOG.warn("reading from any OSD: {}", String.valueOf(e.getCause()));
      }
    }
    return known;
  }
}
