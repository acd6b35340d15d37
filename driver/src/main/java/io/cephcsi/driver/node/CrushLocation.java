package io.cephcsi.driver.node;

import io.cephcsi.driver.cluster.ClusterConfig;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Where this node is in the CRUSH map, so that the kernel's clients read from what is near.
 *
 * @param labels the node's labels
 */
public record CrushLocation(Map<String, String> labels) {
  private static final String OPTION = "read_from_replica=";

  /** Copies the map. */
  public CrushLocation {
    labels = Map.copyOf(labels);
  }

  /**
   * The kernel's options for a cluster, between commas: each label that the configuration names, by
   * what stands behind its last slash.
   *
   * @param given options that are there already; if they say from where to read, that holds
   * @return empty when nothing is known of the location
   */
  public String options(ClusterConfig cluster, String given) {
    Map<String, String> location = new LinkedHashMap<>();
    for (String label : cluster.node().crushLabels()) {
      String value = labels.get(label);
      if (value != null) {
        String type = label.substring(label.lastIndexOf('/') + 1);
        location.put(type.equals("hostname") ? "host" : type, value.replace('.', '-'));
      }
    }
    if (location.isEmpty() || given.contains(OPTION)) {
      return "";
    }
    return location.entrySet().stream()
        .map(entry -> entry.getKey() + ":" + entry.getValue())
        .collect(Collectors.joining("|", OPTION + "localize,crush_location=", ""));
  }
}
