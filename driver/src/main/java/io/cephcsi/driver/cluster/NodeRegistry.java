package io.cephcsi.driver.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.volume.VolumeException;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The nodes that exist, recorded by the node plugins themselves in every pool that may hold
 * volumes, beside the journal:
 *
 * <pre>
 *   csi.java.nodes.[instance]   omap  node id → when it was last there, ISO 8601
 * </pre>
 *
 * <p>The controller so needs one read, in the volume's own pool. See {@code
 * docs/decisions/node-registration.md}. Safe for several threads.
 */
public final class NodeRegistry {
  private static final Logger LOG = LoggerFactory.getLogger(NodeRegistry.class);
  private static final Duration FORGOTTEN = Duration.ofDays(1);

  private final DriverConnections access;
  private final String object;
  private final Optional<String> ownNode;
  private final Clock clock;
  private volatile boolean anySeen;

  /**
   * @param access the clusters
   * @param instanceId tells several drivers on one pool apart
   * @param ownNode the node that this process itself serves
   */
  public NodeRegistry(DriverConnections access, String instanceId, Optional<String> ownNode) {
    this(access, instanceId, ownNode, Clock.systemUTC());
  }

  NodeRegistry(DriverConnections access, String instanceId, Optional<String> ownNode, Clock clock) {
    this.access = access;
    this.object = "csi.java.nodes." + instanceId;
    this.ownNode = ownNode;
    this.clock = clock;
  }

  /**
   * Requires that a node was there within the last day; see {@link #isKnown}.
   *
   * @param lease the cluster of the volume
   * @param pool the pool of the volume's journal
   * @throws VolumeException NOT_FOUND if it was not
   */
  public void require(Lease lease, IoContext pool, String nodeId) {
    if (!isKnown(lease, pool, nodeId)) {
      throw VolumeException.notFound("node " + nodeId + " does not exist");
    }
  }

  /**
   * Whether a node was there within the last day; one round trip for a node that is registered in
   * the pool.
   *
   * @param lease the cluster of the volume
   * @param pool the pool of the volume
   */
  private boolean isKnown(Lease lease, IoContext pool, String nodeId) {
    if (ownNode.filter(nodeId::equals).isPresent() || isRegistered(pool, nodeId)) {
      return true;
    }
    // The pool may be younger than the node's last report: look where it reported to before.
    return access.storage().journalPools(lease).stream()
        .anyMatch(other -> isRegisteredIn(lease, other, nodeId));
  }

  private boolean isRegisteredIn(Lease lease, long pool, String nodeId) {
    try {
      return isRegistered(access.storage().open(lease, pool), nodeId);
    } catch (CephException e) {
      LOG.debug("pool {} is left out, as it cannot be read: {}", pool, e.getMessage());
      return false;
    }
  }

  private boolean isRegistered(IoContext pool, String nodeId) {
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(List.of(nodeId));
      pool.operate(object, read);
      byte[] seen = values.get().get(nodeId);
      return seen != null && isRecent(new String(seen, UTF_8));
    } catch (CephException.NotFound e) {
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
   * Whether any node is registered on any cluster; once it was so, it stays so. A cluster that
   * cannot be asked does not count.
   */
  public boolean anyRegistered() {
    if (anySeen()) {
      return true;
    }
    anySeen = access.clusters().stream().anyMatch(this::anyRegisteredOn);
    return anySeen;
  }

  private boolean anyRegisteredOn(ClusterConfig cluster) {
    try {
      return access.connected(
          cluster,
          lease ->
              access.storage().journalPools(lease).stream()
                  .anyMatch(pool -> anyRegisteredIn(lease, pool)));
    } catch (RuntimeException e) {
      LOG.warn("cluster {} cannot be asked for nodes: {}", cluster.clusterId(), e.toString());
      return false;
    }
  }

  private boolean anyRegisteredIn(Lease lease, long pool) {
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetVals("", "", 1);
      access.storage().open(lease, pool).operate(object, read);
      return !values.get().values().isEmpty();
    } catch (CephException e) {
      LOG.debug("the nodes in pool {} cannot be read: {}", pool, e.getMessage());
      return false;
    }
  }

  /**
   * Records that a node is there, on all clusters that the driver has credentials for; one round
   * trip for each pool. What cannot be reached is only noted: the next time may succeed.
   */
  public void register(String nodeId) {
    access
        .clusters()
        .forEach(
            cluster -> {
              try {
                access.connected(
                    cluster,
                    lease -> {
                      access
                          .storage()
                          .journalPools(lease)
                          .forEach(pool -> registerIn(lease, pool, nodeId));
                      return null;
                    });
              } catch (RuntimeException e) {
                LOG.warn(
                    "node {} is not registered on cluster {}: {}",
                    nodeId,
                    cluster.clusterId(),
                    e.toString());
              }
            });
  }

  private void registerIn(Lease lease, long pool, String nodeId) {
    try (WriteOperation write = new WriteOperation()) {
      byte[] now = clock.instant().toString().getBytes(UTF_8);
      write.create().omapSet(Map.of(nodeId, now));
      access.storage().open(lease, pool).operate(object, write);
    } catch (CephException e) {
      if (e instanceof CephException.Denied || e.errno() == Errno.EOPNOTSUPP) {
        LOG.debug("pool {} is left out, as it cannot be read: {}", pool, e.getMessage());
      } else {
        throw e;
      }
    }
  }
}
