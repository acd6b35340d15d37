package io.cephcsi.driver.app;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Where a node is: what the configuration says, and the values of the Node object's labels that it
 * names. Those are asked for until they are known, then kept. Safe for several threads.
 */
final class NodeTopology implements Supplier<CompletableFuture<Map<String, String>>> {
  private final DriverConfig.Driver driver;
  private final NodeLabels labels;
  private volatile Map<String, String> known = Map.of();

  private NodeTopology(DriverConfig.Driver driver, NodeLabels labels) {
    this.driver = driver;
    this.labels = labels;
  }

  /** Of the node that a driver serves. */
  static Supplier<CompletableFuture<Map<String, String>>> of(DriverConfig.Driver driver) {
    NodeSettings settings = driver.nodeSettings();
    return settings.domainLabels().isEmpty()
        ? () -> CompletableFuture.completedFuture(settings.topology())
        : new NodeTopology(driver, NodeLabels.ofPod(System.getenv()));
  }

  @Override
  public CompletableFuture<Map<String, String>> get() {
    return known.isEmpty()
        ? labels.of(driver.nodeId()).thenApply(this::keep)
        : CompletableFuture.completedFuture(known);
  }

  private Map<String, String> keep(Map<String, String> found) {
    known = segments(driver.name(), driver.nodeSettings(), found);
    return known;
  }

  /**
   * The topology as ceph-csi names it: {@code topology.DRIVER/zone} for a label that ends in {@code
   * /zone}.
   *
   * @throws VolumeException UNAVAILABLE when the node has not all labels, as it may get them later
   */
  static Map<String, String> segments(
      String driverName, NodeSettings settings, Map<String, String> labels) {
    Map<String, String> segments = new LinkedHashMap<>();
    List<String> missing =
        settings.domainLabels().stream().filter(label -> !labels.containsKey(label)).toList();
    if (!missing.isEmpty()) {
      throw new VolumeException(
          Reason.UNAVAILABLE,
          "the Node object has no labels " + missing + ", which domainlabels name");
    }
    for (String label : settings.domainLabels()) {
      segments.put(
          "topology." + driverName + "/" + NodeSettings.domain(label),
          String.valueOf(labels.get(label)));
    }
    segments.putAll(settings.topology());
    return segments;
  }
}
