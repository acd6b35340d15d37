package io.cephcsi.driver.app;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options about the node. */
final class NodeOptions {
  @Option(
      names = "--node-folder",
      paramLabel = "DIR",
      description = "where the node keeps exports and mounts in the making (/run/ceph-csi/NAME)")
  private @Nullable Path folder;

  @Option(
      names = "--max-volumes",
      paramLabel = "N",
      description = "how many volumes the node can have; 0: the CO decides")
  private long maxVolumes;

  @Option(
      names = "--topology",
      paramLabel = "LABEL=VALUE",
      split = ",",
      description = "where the node is, as volumes with topology need it; may be repeated")
  private Map<String, String> topology = new LinkedHashMap<>();

  @Option(
      names = "--domainlabels",
      paramLabel = "LABEL",
      split = ",",
      description =
          "labels of the Node object in Kubernetes that say where the node is; may be repeated")
  private List<String> domainLabels = new ArrayList<>();

  @Option(
      names = "--node-reclaim-rate",
      paramLabel = "BYTES",
      description =
          "free bytes of a volume that the node discards in a second at most; 0: no bound")
  private long reclaimBytesPerSecond;

  NodeSettings settings() {
    return new NodeSettings(
        Optional.ofNullable(folder), maxVolumes, topology, domainLabels, reclaimBytesPerSecond);
  }
}
