package io.cephcsi.driver.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapWalk;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The nodes that exist, recorded by the node plugins themselves in every pool that may hold
 * volumes, beside the journal:
 *
 * <pre>
 *   csi.java.nodes.[instance]   omap  node id → when it was last there, ISO 8601
 *                                     csi.java.max.[node id] → how many volumes it can have
 *                                     csi.java.volumes.[node id] → which it has in this pool
 * </pre>
 *
 * <p>The second key is there for a node with a maximum, the third is that of {@link
 * RegisteredNode#volumes}. The controller so needs one read, in the volume's own pool. See {@code
 * docs/decisions/node-registration.md}. Safe for several threads.
 */
public final class NodeRegistry {
  private static final Logger LOG = LoggerFactory.getLogger(NodeRegistry.class);
  private static final Duration FORGOTTEN = Duration.ofDays(1);
  private static final String OBJECT = "csi.java.nodes.";
  private static final String MAX = "csi.java.max.";
  private static final String VOLUMES = "csi.java.volumes.";
  private static final int VOLUMES_BYTES = 1 << 20; // 37 for a volume
  private static final byte[] ABSENT = {};

  private final DriverConnections access;
  private final String object;
  private final Optional<OwnNode> ownNode;
  private final Clock clock;
  private volatile boolean anySeen;

  /**
   * @param access the clusters
   * @param instanceId tells several drivers on one pool apart
   * @param ownNode the node that this process itself serves
   */
  public NodeRegistry(DriverConnections access, String instanceId, Optional<OwnNode> ownNode) {
    this(access, instanceId, ownNode, Clock.systemUTC());
  }

  NodeRegistry(
      DriverConnections access, String instanceId, Optional<OwnNode> ownNode, Clock clock) {
    this.access = access;
    this.object = OBJECT + instanceId;
    this.ownNode = ownNode;
    this.clock = clock;
  }

  /**
   * Requires that a node was there within the last day; one round trip for a node that is
   * registered in the pool.
   *
   * @param lease the cluster of the volume
   * @param pool the pool of the volume
   * @return what is recorded of it
   * @throws VolumeException NOT_FOUND if it was not there
   */
  public RegisteredNode require(Lease lease, IoContext pool, String nodeId) {
    Optional<OwnNode> own = ownNode.filter(node -> node.id().equals(nodeId));
    if (own.isPresent()) {
      long max = own.get().maxVolumes();
      return new RegisteredNode(nodeId, max, max == 0 ? "" : volumes(pool, nodeId));
    }
    Keys here = read(pool, nodeId);
    // The pool may be younger than the node's last report: look where it reported to before.
    return here.node(nodeId, here.volumes())
        .or(
            () ->
                access.storage().journalPools(lease).stream()
                    .flatMap(other -> readIn(lease, other, nodeId).stream())
                    .flatMap(there -> there.node(nodeId, here.volumes()).stream())
                    .findFirst())
        .orElseThrow(() -> VolumeException.notFound("node " + nodeId + " does not exist"));
  }

  private Optional<Keys> readIn(Lease lease, long pool, String nodeId) {
    try {
      return Optional.of(read(access.storage().open(lease, pool), nodeId));
    } catch (CephException e) {
      LOG.debug("pool {} is left out, as it cannot be read: {}", pool, e.getMessage());
      return Optional.empty();
    }
  }

  private Keys read(IoContext pool, String nodeId) {
    try (ReadOperation read = new ReadOperation().allow(VOLUMES_BYTES)) {
      var values = read.omapGetByKeys(List.of(nodeId, MAX + nodeId, VOLUMES + nodeId));
      pool.operate(object, read);
      return new Keys(
          isRecent(text(values.get().get(nodeId))),
          number(text(values.get().get(MAX + nodeId))),
          text(values.get().get(VOLUMES + nodeId)));
    } catch (CephException.NotFound e) {
      return new Keys(false, 0, "");
    }
  }

  private static String text(byte @Nullable [] value) {
    return value == null ? "" : new String(value, UTF_8);
  }

  /** A maximum that is not there, or that no driver wrote, is none. */
  private static long number(String max) {
    try {
      return max.isEmpty() ? 0 : Math.max(0, Long.parseLong(max));
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  /** What is recorded in a pool of the volumes of a node; one round trip. */
  public String volumes(IoContext pool, String nodeId) {
    return read(pool, nodeId).volumes();
  }

  /** The other pools of a cluster that may hold volumes; those that cannot be read are left out. */
  public List<IoContext> otherPools(Lease lease, IoContext pool) {
    return access.storage().journalPools(lease).stream()
        .filter(id -> id != pool.poolId())
        .flatMap(
            id -> {
              try {
                return Stream.of(access.storage().open(lease, id));
              } catch (CephException e) {
                LOG.debug("pool {} is left out, as it cannot be opened: {}", id, e.getMessage());
                return Stream.empty();
              }
            })
        .toList();
  }

  /**
   * Replaces what is recorded in a pool of the volumes of a node; one round trip.
   *
   * @param node as it was read
   * @return false if another driver changed it meanwhile
   */
  public boolean setVolumes(IoContext pool, RegisteredNode node, String volumes) {
    String key = VOLUMES + node.id();
    byte[] former = node.volumes().isEmpty() ? ABSENT : node.volumes().getBytes(UTF_8);
    try (WriteOperation write = new WriteOperation()) {
      write.create().omapCompare(key, former).omapSet(key, volumes.getBytes(UTF_8));
      pool.operate(object, write);
      return true;
    } catch (CephException.Canceled e) {
      return false;
    }
  }

  private boolean isRecent(String seen) {
    try {
      return Instant.parse(seen).isAfter(clock.instant().minus(FORGOTTEN));
    } catch (DateTimeParseException e) {
      return false;
    }
  }

  /** Whether a node is known to have been registered, without asking a cluster. */
  public boolean anySeen() {
    return ownNode.isPresent() || anySeen;
  }

  /**
   * Whether any node is registered on any cluster; once it was so, it stays so.
   *
   * @param first the id of the cluster that is asked first, as the most likely to answer
   * @throws VolumeException UNAVAILABLE when no cluster has one, and some could not be asked, or
   *     the configuration of some cannot be used
   */
  public boolean anyRegistered(String first) {
    if (anySeen()) {
      return true;
    }
    List<ClusterConfig> all = new ArrayList<>(access.clusters());
    all.sort(Comparator.comparing(cluster -> !cluster.clusterId().equals(first)));
    List<String> silent = new ArrayList<>();
    for (ClusterConfig cluster : all) {
      try {
        if (anyRegisteredOn(cluster)) {
          anySeen = true;
          return true;
        }
      } catch (RuntimeException e) {
        LOG.warn("cluster {} cannot be asked for nodes: {}", cluster.clusterId(), e.toString());
        silent.add(cluster.clusterId());
      }
    }
    if (!silent.isEmpty()) {
      throw new VolumeException(
          Reason.UNAVAILABLE,
          "whether a node plugin has registered is not known: clusters that do not answer: "
              + silent);
    }
    access.allClusters(); // or one whose configuration is damaged would not count
    return false;
  }

  private boolean anyRegisteredOn(ClusterConfig cluster) {
    return access.connected(
        cluster,
        lease ->
            access.storage().journalPools(lease).stream()
                .anyMatch(pool -> anyRegisteredIn(lease, pool)));
  }

  private boolean anyRegisteredIn(Lease lease, long pool) {
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetValsBehind("", "", 1);
      access.storage().open(lease, pool).operate(object, read);
      return !values.get().values().isEmpty();
    } catch (CephException.OutcomeUnknown e) {
      throw e;
    } catch (CephException e) {
      LOG.debug("the nodes in pool {} cannot be read: {}", pool, e.getMessage());
      return false;
    }
  }

  /**
   * Records that a node is there, on all clusters that the driver has credentials for; one round
   * trip for each pool. What cannot be reached is only noted, and keeps the node from no other
   * pool: the next time may succeed.
   */
  public void register(OwnNode node) {
    access
        .clusters()
        .forEach(
            cluster -> {
              try {
                access.connected(
                    cluster,
                    lease -> {
                      registerOn(lease, node);
                      return null;
                    });
              } catch (RuntimeException e) {
                LOG.warn(
                    "node {} is not registered on cluster {}: {}",
                    node.id(),
                    cluster.clusterId(),
                    e.toString());
              }
            });
  }

  /**
   * In every pool; the failure of one that does not answer is thrown behind them, and that of a
   * second one at once: then it is rather the cluster, and others wait for their turn.
   */
  private void registerOn(Lease lease, OwnNode node) {
    CephException.OutcomeUnknown silent = null;
    for (long pool : access.storage().journalPools(lease)) {
      try {
        registerIn(lease, pool, node);
      } catch (CephException.OutcomeUnknown e) {
        if (silent != null || e instanceof CephException.Blocklisted) {
          throw e;
        }
        silent = e;
      }
    }
    if (silent != null) {
      throw silent;
    }
  }

  private void registerIn(Lease lease, long pool, OwnNode node) {
    try (WriteOperation write = new WriteOperation()) {
      write.create().omapSet(node.id(), clock.instant().toString().getBytes(UTF_8));
      if (node.maxVolumes() > 0) {
        write.omapSet(MAX + node.id(), Long.toString(node.maxVolumes()).getBytes(UTF_8));
      } else {
        write.omapRemove(List.of(MAX + node.id()));
      }
      access.storage().open(lease, pool).operate(object, write);
    } catch (CephException.OutcomeUnknown e) {
      throw e;
    } catch (CephException e) {
      if (e instanceof CephException.Denied || e.errno() == Errno.EOPNOTSUPP) {
        LOG.debug("pool {} is left out, as it cannot be read: {}", pool, e.getMessage());
      } else {
        LOG.warn("node {} is not registered in pool {}: {}", node.id(), pool, e.getMessage());
      }
    }
  }

  /**
   * When each node of an instance was last there, as a pool records it; one round trip for every
   * 1,000. A time that cannot be read is the beginning of time.
   */
  public static Map<String, Instant> lastSeen(IoContext pool, String instanceId) {
    Map<String, Instant> seen = new LinkedHashMap<>();
    OmapWalk.keys(
        pool,
        OBJECT + instanceId,
        "",
        (key, value) -> {
          if (!key.startsWith(MAX) && !key.startsWith(VOLUMES)) {
            seen.put(key, time(new String(value, UTF_8)));
          }
        });
    return seen;
  }

  private static Instant time(String text) {
    try {
      return Instant.parse(text);
    } catch (DateTimeParseException e) {
      return Instant.MIN;
    }
  }

  /** What a pool has of a node. */
  private record Keys(boolean isThere, long maxVolumes, String volumes) {
    /** The node, with the volumes of another pool; empty if it is not registered in this one. */
    Optional<RegisteredNode> node(String nodeId, String volumes) {
      return isThere
          ? Optional.of(new RegisteredNode(nodeId, maxVolumes, volumes))
          : Optional.empty();
    }
  }
}
