package io.cephcsi.driver.rbd.parameters;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The parameter {@code topologyConstrainedPools} of a StorageClass: which pool serves which
 * topology segment. Pure.
 *
 * <pre>
 *   [{"poolName": "east", "dataPool": "east-ec",
 *     "domainSegments": [{"domainLabel": "zone", "value": "zone1"}, ...]}, ...]
 * </pre>
 *
 * <p>The label {@code zone} stands for every topology key that ends in {@code /zone}, as nodes
 * report keys with a prefix, such as {@code topology.rbd.csi.ceph.com/zone}.
 */
public final class TopologyPools {
  /** The parameter of StorageClasses. */
  public static final String PARAMETER = "topologyConstrainedPools";

  private final List<Pool> pools;

  private TopologyPools(List<Pool> pools) {
    this.pools = List.copyOf(pools);
  }

  /**
   * Reads the parameter.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is not such a list
   */
  public static TopologyPools parse(Map<String, String> parameters) {
    String text = parameters.getOrDefault(PARAMETER, "");
    if (text.isBlank()) {
      return new TopologyPools(List.of());
    }
    JsonNode root;
    try {
      root = Json.mapper().readTree(text);
    } catch (JsonProcessingException e) {
      throw VolumeException.invalid(
          "parameters: " + PARAMETER + " is not JSON: " + e.getOriginalMessage());
    }
    List<Pool> pools = new ArrayList<>();
    for (JsonNode node : root) {
      pools.add(pool(node));
    }
    if (pools.isEmpty()) {
      throw VolumeException.invalid("parameters: " + PARAMETER + " must be a list of pools");
    }
    return new TopologyPools(pools);
  }

  private static Pool pool(JsonNode node) {
    String name = node.path("poolName").asText("");
    Map<String, String> segments = new LinkedHashMap<>();
    for (JsonNode segment : node.path("domainSegments")) {
      String label = segment.path("domainLabel").asText("");
      String value = segment.path("value").asText("");
      if (label.isEmpty() || value.isEmpty()) {
        throw VolumeException.invalid(
            "parameters: " + PARAMETER + ": domainSegments need domainLabel and value");
      }
      segments.put(label, value);
    }
    if (name.isEmpty() || segments.isEmpty()) {
      throw VolumeException.invalid(
          "parameters: " + PARAMETER + ": each pool needs poolName and domainSegments");
    }
    return new Pool(name, node.path("dataPool").asText(""), segments);
  }

  /** Whether the StorageClass constrains nothing. */
  public boolean isEmpty() {
    return pools.isEmpty();
  }

  /**
   * The pools for a volume, best first.
   *
   * @param preferred where it should be accessible from, best first
   * @param requisite where it must be accessible from, one of them
   * @return empty when there are no such pools, or the request does not care
   * @throws VolumeException RESOURCE_EXHAUSTED when no pool serves one of these topologies
   */
  public List<Choice> require(
      List<Map<String, String>> preferred, List<Map<String, String>> requisite) {
    if (pools.isEmpty() || (preferred.isEmpty() && requisite.isEmpty())) {
      return List.of();
    }
    List<Choice> choices =
        Stream.concat(preferred.stream(), requisite.stream())
            .flatMap(topology -> pools.stream().flatMap(pool -> pool.at(topology).stream()))
            .distinct()
            .toList();
    if (!choices.isEmpty()) {
      return choices;
    }
    throw new VolumeException(
        VolumeException.Reason.RESOURCE_EXHAUSTED,
        "accessibility_requirements: no pool of " + PARAMETER + " serves any of the topologies");
  }

  /** What each pool serves, by label. */
  public List<Map<String, String>> places() {
    return pools.stream().map(Pool::segments).toList();
  }

  /** The name of the first pool, whatever it serves. */
  String first() {
    return pools.get(0).name();
  }

  /** The first pool that serves a topology. */
  public Optional<Choice> choose(Map<String, String> topology) {
    return pools.stream().map(pool -> pool.at(topology)).flatMap(Optional::stream).findFirst();
  }

  /**
   * A pool, and what it serves.
   *
   * @param dataPool where the data is; empty when in the pool itself
   */
  private record Pool(String name, String dataPool, Map<String, String> segments) {
    Optional<Choice> at(Map<String, String> topology) {
      Map<String, String> matched = new LinkedHashMap<>();
      for (Map.Entry<String, String> segment : segments.entrySet()) {
        Optional<String> key =
            topology.keySet().stream()
                .filter(k -> label(k).equals(segment.getKey()))
                .filter(k -> segment.getValue().equals(topology.get(k)))
                .findFirst();
        if (key.isEmpty()) {
          return Optional.empty();
        }
        matched.put(key.get(), segment.getValue());
      }
      return Optional.of(
          new Choice(name, Optional.of(dataPool).filter(pool -> !pool.isEmpty()), matched));
    }

    private static String label(String key) {
      return key.substring(key.lastIndexOf('/') + 1);
    }
  }

  /**
   * The pool that serves a topology.
   *
   * @param pool where the image is
   * @param dataPool where its data is, if elsewhere
   * @param topology where the volume is accessible from, with the keys of the request
   */
  public record Choice(String pool, Optional<String> dataPool, Map<String, String> topology) {
    /** Copies the map. */
    public Choice {
      topology = Map.copyOf(topology);
    }
  }
}
