package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ObjectLock;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.cluster.ClientFence;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.cluster.PoolInfo;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The slots for reclaims of a cluster: locks on one object, in the first RBD pool, by id, that the
 * credentials may write to, in its default namespace. So clients with the capabilities of {@code
 * profile rbd} share the slots without any configuration. Clients that are restricted to other
 * pools share those of the first of these pools; clients that are restricted to a namespace those
 * of the namespace. The limit then holds for each such set of clients.
 *
 * <p>Owns its {@link IoContext}. Safe for several threads; blocks on the cluster.
 */
final class ReclaimSlots implements AutoCloseable {
  /** The object that the locks are on. */
  static final String OBJECT = "ceph-csi-java.reclaims";

  private static final Logger LOG = LoggerFactory.getLogger(ReclaimSlots.class);

  private final IoContext io;

  private ReclaimSlots(IoContext io) {
    this.io = io;
  }

  /**
   * Finds the locks of a cluster; one question to a monitor, and a round trip for each pool that is
   * tried.
   *
   * @param image the pool and namespace of the image that is reclaimed, tried last
   * @return empty when no pool takes the object, as all are full
   * @throws CephException.Denied if the credentials may write nowhere, not even beside the image
   */
  static Optional<ReclaimSlots> find(IoContext image) {
    RadosCluster cluster = image.cluster();
    for (long pool : rbdPools(cluster)) {
      try {
        Optional<ReclaimSlots> locks = in(cluster, pool, "");
        if (locks.isPresent()) {
          return locks;
        }
      } catch (CephException.Denied | CephException.NotFound e) {
        LOG.debug("no reclaim slots in pool {}: {}", pool, e.getMessage());
      }
    }
    return in(cluster, image.poolId(), image.namespace());
  }

  private static List<Long> rbdPools(RadosCluster cluster) {
    List<Long> pools = new ArrayList<>();
    try {
      for (PoolInfo pool : MonitorQueries.pools(cluster)) {
        if (!pool.erasureCoded() && pool.applications().contains("rbd")) {
          pools.add(pool.id());
        }
      }
    } catch (CephException.Denied e) {
      LOG.warn(
          "the user may not list the pools, so the number of concurrent reclaims is"
              + " limited for each pool instead of the cluster: {}",
          e.getMessage());
    }
    return pools;
  }

  /** Makes sure that the object exists; this tells whether the credentials allow it, too. */
  static Optional<ReclaimSlots> in(RadosCluster cluster, long pool, String namespace) {
    IoContext io = cluster.openPool(pool, namespace).tryWhenFull();
    boolean kept = false;
    try (WriteOperation create = new WriteOperation().create()) {
      io.operate(OBJECT, create);
      kept = true;
      return Optional.of(new ReclaimSlots(io));
    } catch (CephException e) {
      if (e.errno() != Errno.EDQUOT && e.errno() != Errno.ENOSPC) {
        throw e;
      }
      return Optional.empty();
    } finally {
      if (!kept) {
        io.close();
      }
    }
  }

  /**
   * Takes a slot unless another client has it.
   *
   * @param slot its number
   * @param cookie tells holders of one connection apart
   * @param what for people who list the locks
   * @param holds how long without renewal
   */
  Optional<ObjectLock> tryTake(int slot, String cookie, String what, Duration holds) {
    return ObjectLock.tryAcquire(io, OBJECT, lock(slot), cookie, what, holds);
  }

  /**
   * Frees the slots of clients that this process has shut out; no round trip if it has none.
   *
   * @param slots how many there are
   * @return whether one became free
   */
  boolean freeDead(int slots) {
    boolean free = false;
    for (int slot = 0; slot < slots && ClientFence.hasShutOut(); slot++) {
      free |= ObjectLock.breakDead(io, OBJECT, lock(slot), ClientFence::isShutOut);
    }
    return free;
  }

  private static String lock(int slot) {
    return "place-" + slot;
  }

  /** Pool and namespace. */
  IoContext io() {
    return io;
  }

  @Override
  public void close() {
    io.close();
  }
}
