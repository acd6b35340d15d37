package io.cephcsi.driver.node;

import io.cephcsi.driver.cluster.ClusterConfig;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where this node is in the CRUSH map, so that the kernel's clients read from what is near.
 *
 * @param labels gives the node's labels, of those that are asked for at least what is known; it may
 *     block for some seconds
 */
public record CrushLocation(Function<List<String>, Map<String, String>> labels) {
  private static final Logger LOG = LoggerFactory.getLogger(CrushLocation.class);
  private static final String OPTION = "read_from_replica=";
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_-]+");

  /** Of a node with these labels. */
  public CrushLocation(Map<String, String> labels) {
    this(asked -> labels);
  }

  /**
   * The kernel's options for a cluster, between commas: each label that the configuration names, by
   * what stands behind its last slash.
   *
   * @param given options that are there already; if they say from where to read, that holds
   * @return empty when nothing is known of the location
   */
  public String options(ClusterConfig cluster, String given) {
    List<String> wanted = cluster.node().crushLabels();
    if (wanted.isEmpty() || given.contains(OPTION)) {
      return "";
    }
    Map<String, String> known = labels.apply(wanted);
    Map<String, String> location = new LinkedHashMap<>();
    for (String label : wanted) {
      String type = label.substring(label.lastIndexOf('/') + 1);
      String value = known.getOrDefault(label, "").strip().replace('.', '-');
      if (NAME.matcher(type).matches() && NAME.matcher(value).matches()) {
        location.put(type.equals("hostname") ? "host" : type, value);
      }
    }
    if (location.isEmpty()) {
      LOG.warn("this node has none of the labels {}: it reads from any OSD", wanted);
      return "";
    }
    return location.entrySet().stream()
        .map(entry -> entry.getKey() + ":" + entry.getValue())
        .collect(Collectors.joining("|", OPTION + "localize,crush_location=", ""));
  }
}
