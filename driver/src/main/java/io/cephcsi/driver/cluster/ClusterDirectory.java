package io.cephcsi.driver.cluster;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.cephcsi.driver.volume.Booleans;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The clusters of ceph-csi's {@code config.json}, read again when the file changes (a mounted
 * ConfigMap is replaced in place). An entry that cannot be used makes only its own cluster
 * UNAVAILABLE, unless what was read of it before is known. Safe for several threads.
 */
public final class ClusterDirectory {
  /** Where ceph-csi's deployments mount the file. */
  public static final Path DEFAULT_FILE = Path.of("/etc/ceph-csi-config/config.json");

  private static final Logger LOG = LoggerFactory.getLogger(ClusterDirectory.class);

  /** In the place of the id of an entry that does not say one, which may be any cluster's. */
  private static final String NOT_SAID = "";

  private final Path file;
  private final ClusterDefaults defaults;
  private final ClusterMapping mapping;
  private @Nullable Snapshot current;
  private @Nullable Broken broken;
  private String logged = "";

  /** The clusters of a file; it is read at the first question. */
  public ClusterDirectory(Path file) {
    this(file, ClusterDefaults.NONE);
  }

  /**
   * The clusters of a file; it is read at the first question.
   *
   * @param defaults of clusters that do not say it themselves
   */
  public ClusterDirectory(Path file, ClusterDefaults defaults) {
    this.file = file;
    this.defaults = defaults;
    this.mapping = ClusterMapping.beside(file);
  }

  /**
   * A cluster by its id; empty when the configuration does not name it.
   *
   * @throws VolumeException UNAVAILABLE when there is no readable configuration, or its entry of
   *     the cluster cannot be used
   */
  public Optional<ClusterConfig> find(String clusterId) {
    Snapshot read = current();
    read.requireUsable(file, clusterId);
    return Optional.ofNullable(read.clusters.get(clusterId));
  }

  /**
   * Requires that all entries can be used, for those who must not miss a cluster.
   *
   * @throws VolumeException UNAVAILABLE when one cannot
   */
  public void requireUsable() {
    Snapshot read = current();
    read.damaged.keySet().forEach(id -> read.requireUsable(file, id));
  }

  /**
   * Requires that the entries of some clusters can be used; they need none.
   *
   * @throws VolumeException as of {@link #find}
   */
  public void requireUsable(Collection<String> clusterIds) {
    Snapshot read = current();
    clusterIds.forEach(id -> read.requireUsable(file, id));
  }

  /**
   * A cluster by its id.
   *
   * @throws VolumeException INVALID_ARGUMENT when the configuration does not name it; as of {@link
   *     #find}
   */
  public ClusterConfig require(String clusterId) {
    return find(clusterId)
        .orElseThrow(
            () ->
                VolumeException.invalid(
                    "clusterID \"" + clusterId + "\" is not in " + file + "; add it there"));
  }

  /**
   * The cluster of something that is to be deleted. That its cluster is not configured does not
   * prove that it is gone: the configuration may be wrong.
   *
   * @param what it is, such as {@code volume}
   * @throws VolumeException FAILED_PRECONDITION when the configuration does not name the cluster;
   *     as of {@link #find}
   */
  public ClusterConfig holding(VolumeId id, String what) {
    return find(id.clusterId())
        .orElseThrow(
            () ->
                new VolumeException(
                    Reason.FAILED_PRECONDITION,
                    "cluster \""
                        + id.clusterId()
                        + "\" of "
                        + what
                        + " "
                        + id
                        + " is not configured"));
  }

  /**
   * The cluster of something that must exist.
   *
   * @param what it is, such as {@code volume}
   * @throws VolumeException NOT_FOUND when the configuration does not name the cluster; as of
   *     {@link #find}
   */
  public ClusterConfig requireOf(VolumeId id, String what) {
    return find(id.clusterId())
        .orElseThrow(
            () ->
                VolumeException.notFound(
                    what
                        + " "
                        + id
                        + ": its cluster \""
                        + id.clusterId()
                        + "\" is not configured"));
  }

  /**
   * Requires, of something that is to be given back, that its cluster is configured, or one that
   * stands for it.
   *
   * @param what it is, such as {@code volume}
   * @throws VolumeException FAILED_PRECONDITION when none is; as of {@link #find}
   */
  public void requireHolding(VolumeId id, String what) {
    if (find(id.clusterId()).isEmpty()
        && mapping.alternatives(id).stream().noneMatch(at -> find(at.clusterId()).isPresent())) {
      holding(id, what);
    }
  }

  /** What stands for clusters and pools of another site. */
  public ClusterMapping mapping() {
    return mapping;
  }

  /** All clusters by id whose entries can be used. */
  public Map<String, ClusterConfig> clusters() {
    return current().clusters;
  }

  private synchronized Snapshot current() {
    try {
      Stamp stamp = stamp();
      if (current == null || !current.stamp.equals(stamp)) {
        current = readOnce(stamp);
        broken = null;
      }
      logged = "";
    } catch (IOException e) {
      String problem =
          e instanceof NoSuchFileException ? "does not exist" : String.valueOf(e.getMessage());
      if (current == null) {
        throw new VolumeException(
            Reason.UNAVAILABLE, "the clusters' configuration " + file + ": " + problem, e);
      }
      // A file that is being replaced, or was broken by an edit: what was read last still holds.
      if (!problem.equals(logged)) {
        LOG.warn("{}: {}; going on with the clusters read before", file, problem);
        logged = problem;
      }
    }
    return current;
  }

  /** Reads the file, unless it is known that this content of it cannot be used. */
  private Snapshot readOnce(Stamp stamp) throws IOException {
    if (broken != null && broken.stamp.equals(stamp)) {
      throw new IOException(broken.problem);
    }
    byte[] content = Files.readAllBytes(file); // what this fails of may end without a new stamp
    try {
      return parse(stamp, content, current == null ? Map.of() : current.clusters);
    } catch (IOException e) {
      broken = new Broken(stamp, String.valueOf(e.getMessage()));
      throw e;
    }
  }

  private Stamp stamp() throws IOException {
    BasicFileAttributes attributes =
        Files.readAttributes(file.toRealPath(), BasicFileAttributes.class);
    return new Stamp(
        attributes.lastModifiedTime().toMillis(),
        attributes.size(),
        String.valueOf(attributes.fileKey()));
  }

  /**
   * @param former of an entry that cannot be used, what was read before holds
   */
  private Snapshot parse(Stamp stamp, byte[] content, Map<String, ClusterConfig> former)
      throws IOException {
    Object root;
    try {
      root = Json.tree(content);
    } catch (JsonProcessingException e) {
      throw new IOException("is not JSON: " + e.getOriginalMessage(), e);
    }
    if (!(root instanceof List<?> list)) {
      throw new IOException("must be a JSON list of clusters");
    }
    Map<String, ClusterConfig> clusters = new LinkedHashMap<>();
    Map<String, String> damaged = new LinkedHashMap<>();
    for (Object node : list) {
      String id = text(node, "clusterID");
      if (!id.equals(NOT_SAID) && (clusters.containsKey(id) || damaged.containsKey(id))) {
        LOG.warn("{} names clusterID \"{}\" twice: the first entry holds", file, id);
        continue;
      }
      try {
        ClusterConfig config = cluster(id, node);
        warnOfOlderNamespace(config);
        clusters.put(id, config);
      } catch (IOException e) {
        String problem = String.valueOf(e.getMessage());
        LOG.warn("{}: the entry of cluster \"{}\" cannot be used: {}", file, id, problem);
        damaged.put(id, problem);
      }
    }
    former.forEach(
        (id, config) -> {
          boolean missing = !clusters.containsKey(id) && damaged.containsKey(NOT_SAID);
          if (damaged.remove(id) != null || missing) {
            LOG.warn("going on with what was read of cluster \"{}\" before", id);
            clusters.put(id, config);
          }
        });
    return new Snapshot(stamp, Map.copyOf(clusters), Map.copyOf(damaged));
  }

  private void warnOfOlderNamespace(ClusterConfig config) {
    String older = defaults.cephFsNamespace();
    if (!older.isEmpty() && !older.equals(config.cephFsNamespace())) {
      LOG.warn(
          "cluster \"{}\": by {} the journals of CephFS are in the RADOS namespace {}, by"
              + " --radosnamespacecephfs in {}: volumes whose journal is there are found only if"
              + " cephFS.radosNamespace of the cluster is {}",
          config.clusterId(),
          file,
          config.cephFsNamespace(),
          older,
          older);
    }
  }

  private ClusterConfig cluster(String clusterId, Object node) throws IOException {
    if (clusterId.equals(NOT_SAID)) {
      throw new IOException("it has no clusterID");
    }
    List<String> monitors = texts(node, "monitors");
    if (monitors.isEmpty()) {
      throw new IOException("it has no monitors");
    }
    return new ClusterConfig(
        clusterId,
        monitors,
        text(node, "rbd", "radosNamespace"),
        or(text(node, "cephFS", "radosNamespace"), ClusterConfig.CEPHFS_DEFAULT),
        or(text(node, "cephFS", "subvolumeGroup"), ClusterConfig.CEPHFS_DEFAULT),
        nodeSide(node),
        replication(node));
  }

  private static Optional<ReplicationTarget> replication(Object node) throws IOException {
    String target = text(node, "replicationDestination", "remoteClusterID");
    if (target.isEmpty()) {
      return Optional.empty();
    }
    try {
      VolumeId.requireClusterId(target);
    } catch (VolumeException e) {
      throw new IOException(
          "replicationDestination: remoteClusterID cannot be " + PlainText.show(target), e);
    }
    Map<String, Long> pools = new LinkedHashMap<>();
    if (at(node, "replicationDestination", "rbd", "remotePoolMapping") instanceof Map<?, ?> all) {
      for (Map.Entry<?, ?> entry : all.entrySet()) {
        String pool = String.valueOf(entry.getKey());
        pools.put(pool, poolId(pool, text(entry.getValue(), "poolID")));
      }
    }
    return Optional.of(new ReplicationTarget(target, pools));
  }

  private static long poolId(String pool, String id) throws IOException {
    if (!id.matches("[0-9]{1,18}")) {
      throw new IOException(
          "replicationDestination: poolID of " + PlainText.show(pool) + " must be a number");
    }
    return Long.parseLong(id);
  }

  private NodeConfig nodeSide(Object node) throws IOException {
    return new NodeConfig(
        or(text(node, "cephFS", "kernelMountOptions"), defaults.kernelMountOptions()),
        or(text(node, "cephFS", "fuseMountOptions"), defaults.fuseMountOptions()),
        text(node, "rbd", "netNamespaceFilePath"),
        text(node, "cephFS", "netNamespaceFilePath"),
        crushLabels(node));
  }

  private List<String> crushLabels(Object node) throws IOException {
    String enabled = or(text(node, "readAffinity", "enabled"), "false");
    boolean readAffinity =
        Booleans.parse(enabled)
            .orElseThrow(
                () ->
                    new IOException(
                        "readAffinity.enabled must be true or false, not "
                            + PlainText.show(enabled)));
    if (!readAffinity && at(node, "readAffinity") != null) {
      return List.of();
    }
    List<String> labels = texts(node, "readAffinity", "crushLocationLabels");
    return labels.isEmpty() ? defaults.crushLabels() : labels;
  }

  /** What stands under some names within each other; nothing if it is missing. */
  private static @Nullable Object at(Object node, String... names) {
    @Nullable Object found = node;
    for (String name : names) {
      found = found instanceof Map<?, ?> object ? object.get(name) : null;
    }
    return found;
  }

  private static String text(Object node, String... names) {
    return at(node, names) instanceof String text ? text : "";
  }

  private static List<String> texts(Object node, String... names) {
    return at(node, names) instanceof List<?> list
        ? list.stream().map(value -> value instanceof String text ? text : "").toList()
        : List.of();
  }

  private static String or(String text, String whenEmpty) {
    return text.isEmpty() ? whenEmpty : text;
  }

  /** Tells one content of the file from another without reading it. */
  private record Stamp(long modifiedMillis, long size, String key) {}

  /** Content that cannot be used, and why. */
  private record Broken(Stamp stamp, String problem) {}

  /** What was read, from which content, and why some entries of it cannot be used. */
  private record Snapshot(
      Stamp stamp, Map<String, ClusterConfig> clusters, Map<String, String> damaged) {
    void requireUsable(Path file, String id) {
      if (clusters.containsKey(id)) {
        return;
      }
      String said = damaged.containsKey(id) ? id : NOT_SAID;
      String problem = damaged.get(said);
      if (problem != null) {
        throw new VolumeException(
            Reason.UNAVAILABLE,
            file + ": the entry of cluster \"" + said + "\" cannot be used: " + problem);
      }
    }
  }
}
