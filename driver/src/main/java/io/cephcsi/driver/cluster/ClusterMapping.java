package io.cephcsi.driver.cluster;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * ceph-csi's {@code cluster-mapping.json}: which clusters and pools of two sites stand for each
 * other, so that the identifier of a volume of one site is understood on the other. It is read when
 * it is asked, which is when a volume is not where its identifier says. Safe for several threads.
 *
 * <pre>
 *   [{"clusterIDMapping": {"site1": "site2"}, "RBDPoolIDMapping": [{"1": "2"}, {"11": "12"}]}]
 * </pre>
 *
 * <p>Keys and values match both ways: both sites have the same file.
 */
public final class ClusterMapping {
  private static final String NAME = "cluster-mapping.json";

  private final Path file;

  /** That beside a {@code config.json}; the file need not exist. */
  public static ClusterMapping beside(Path clustersFile) {
    return new ClusterMapping(clustersFile.resolveSibling(NAME));
  }

  private ClusterMapping(Path file) {
    this.file = file;
  }

  /**
   * What a volume of RBD may be called instead, in the order of the file.
   *
   * @return with the same uuid; empty if the file does not exist or says nothing of the cluster and
   *     pool
   * @throws VolumeException FAILED_PRECONDITION if the file is not as it must be
   */
  public Set<VolumeId> alternatives(VolumeId id) {
    Set<VolumeId> found = new LinkedHashSet<>();
    String pool = Long.toString(id.location());
    for (Entry entry : read()) {
      for (String cluster : matches(entry.clusters, id.clusterId())) {
        for (Map<String, String> pools : entry.pools) {
          for (String other : matches(pools, pool)) {
            found.add(new VolumeId(cluster, poolId(other), id.uuid()));
          }
        }
      }
    }
    found.remove(id);
    return found;
  }

  private static List<String> matches(Map<String, String> map, String wanted) {
    List<String> others = new ArrayList<>();
    map.forEach(
        (one, other) -> {
          if (one.equals(wanted)) {
            others.add(other);
          }
          if (other.equals(wanted)) {
            others.add(one);
          }
        });
    return others;
  }

  private List<Entry> read() {
    Object root;
    try {
      root = Json.tree(Files.readAllBytes(file));
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (JsonProcessingException e) {
      throw wrong("is not JSON: " + e.getOriginalMessage(), Optional.of(e));
    } catch (IOException e) {
      throw wrong("cannot be read: " + e.getMessage(), Optional.of(e));
    }
    if (!(root instanceof List<?> list)) {
      throw wrong("must be a JSON list", Optional.empty());
    }
    return list.stream().map(this::entry).toList();
  }

  private Entry entry(Object node) {
    if (!(node instanceof Map<?, ?> object)) {
      throw wrong("must be a list of objects", Optional.empty());
    }
    List<Map<String, String>> pools = new ArrayList<>();
    if (object.get("RBDPoolIDMapping") instanceof List<?> list) {
      list.forEach(each -> pools.add(texts(each)));
    }
    pools.forEach(
        map ->
            map.forEach(
                (one, other) -> {
                  poolId(one);
                  poolId(other);
                }));
    Object clusters = object.get("clusterIDMapping");
    Map<String, String> ids = clusters == null ? Map.of() : texts(clusters);
    ids.forEach(
        (one, other) -> {
          requireClusterId(one);
          requireClusterId(other);
        });
    return new Entry(ids, pools);
  }

  private Map<String, String> texts(Object node) {
    if (!(node instanceof Map<?, ?> object)) {
      throw wrong("must map texts to texts", Optional.empty());
    }
    Map<String, String> texts = new LinkedHashMap<>();
    object.forEach(
        (key, value) -> {
          if (!(value instanceof String text)) {
            throw wrong("must map texts to texts", Optional.empty());
          }
          texts.put(String.valueOf(key), text);
        });
    return texts;
  }

  private void requireClusterId(String id) {
    try {
      VolumeId.requireClusterId(id);
    } catch (VolumeException e) {
      throw wrong("clusterIDMapping: " + e.getMessage(), Optional.of(e));
    }
  }

  private long poolId(String id) {
    if (!id.matches("[0-9]{1,18}")) {
      throw wrong("RBDPoolIDMapping: an id of a pool must be a number", Optional.empty());
    }
    return Long.parseLong(id);
  }

  private VolumeException wrong(String what, Optional<Exception> cause) {
    String message = file + " " + what;
    return cause
        .map(e -> new VolumeException(Reason.FAILED_PRECONDITION, message, e))
        .orElseGet(() -> new VolumeException(Reason.FAILED_PRECONDITION, message));
  }

  /** An entry: clusters, and pools of those. */
  private record Entry(Map<String, String> clusters, List<Map<String, String>> pools) {}
}
