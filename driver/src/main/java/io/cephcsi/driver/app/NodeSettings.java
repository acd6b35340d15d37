package io.cephcsi.driver.app;

import static io.cephcsi.driver.app.DriverConfig.require;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * How a driver serves a node.
 *
 * @param folder where exports and mounts are made ready; empty for one in /run, named as the driver
 * @param maxVolumes how many volumes the node can have; 0 for any number
 * @param topology where the node is, by label
 * @param reclaimBytesPerSecond how many free bytes of a volume a reclaim on the node discards in a
 *     second at most; 0 for no limit
 */
public record NodeSettings(
    Optional<Path> folder,
    long maxVolumes,
    Map<String, String> topology,
    long reclaimBytesPerSecond) {
  /** What holds unless it is configured. */
  public static final NodeSettings DEFAULT = new NodeSettings(Optional.empty(), 0, Map.of(), 0);

  private static final Path RUN = Path.of("/run/ceph-csi");

  /** Checks the numbers. */
  public NodeSettings {
    topology = Map.copyOf(topology);
    require(maxVolumes >= 0, "maxVolumes must not be negative");
    require(reclaimBytesPerSecond >= 0, "nodeReclaimBytesPerSecond must not be negative");
    topology.forEach(
        (label, value) ->
            require(
                !label.isBlank() && !value.isBlank(),
                "topology needs labels with values, not \"" + label + "=" + value + "\""));
  }

  /** The folder of a driver. */
  Path folderOf(String driverName) {
    return folder.orElse(RUN.resolve(driverName));
  }
}
