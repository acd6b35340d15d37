package io.cephcsi.driver.app;

import static io.cephcsi.driver.app.ConfigException.require;

import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How a driver serves a node.
 *
 * @param folder where exports and mounts are made ready; empty for one in /run, named as the driver
 * @param maxVolumes how many volumes the node can have; 0 for any number
 * @param topology where the node is, by label
 * @param domainLabels labels of the Node object in Kubernetes whose values say where the node is
 * @param reclaimBytesPerSecond how many free bytes of a volume a reclaim on the node discards in a
 *     second at most; 0 for no limit
 */
public record NodeSettings(
    Optional<Path> folder,
    long maxVolumes,
    Map<String, String> topology,
    List<String> domainLabels,
    long reclaimBytesPerSecond) {
  /** What holds unless it is configured. */
  public static final NodeSettings DEFAULT =
      new NodeSettings(Optional.empty(), 0, Map.of(), List.of(), 0);

  private static final Path RUN = Path.of("/run/ceph-csi");

  /** Checks the numbers. */
  public NodeSettings {
    topology = Map.copyOf(topology);
    domainLabels = List.copyOf(domainLabels);
    require(maxVolumes >= 0, "maxVolumes must not be negative");
    require(reclaimBytesPerSecond >= 0, "nodeReclaimBytesPerSecond must not be negative");
    topology.forEach(
        (label, value) ->
            require(
                !label.isBlank() && !value.isBlank(),
                "topology needs labels with values, not \"" + label + "=" + value + "\""));
    require(
        domainLabels.stream().noneMatch(String::isBlank),
        "domainlabels must name labels, not blanks");
    require(
        new HashSet<>(domainLabels.stream().map(NodeSettings::domain).toList()).size()
            == domainLabels.size(),
        "two of domainlabels end in the same name: " + domainLabels);
  }

  /** What stands behind the last slash of a label. */
  static String domain(String label) {
    return label.substring(label.lastIndexOf('/') + 1);
  }

  /** Whether volumes may be accessible from a part of the nodes only. */
  boolean hasTopology() {
    return !topology.isEmpty() || !domainLabels.isEmpty();
  }

  /** The folder of a driver. */
  Path folderOf(String driverName) {
    return folder.orElse(RUN.resolve(driverName));
  }
}
