package io.cephcsi.driver.journal;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.cluster.ParallelReads;
import io.cephcsi.driver.cluster.PoolInfo;
import io.cephcsi.driver.cluster.Storage;
import java.util.List;
import java.util.Optional;

/**
 * A cluster as one list sees it: its pools and health errors, asked once, in two round trips.
 *
 * @param lease the connection
 * @param reads reads many things at once
 * @param pools all pools, by id
 * @param danger what endangers data now
 */
public record ClusterView(
    Lease lease, ParallelReads reads, List<PoolInfo> pools, Optional<String> danger) {
  /** Asks the monitors. */
  public static ClusterView of(Lease lease, ParallelReads reads) {
    return new ClusterView(
        lease,
        reads,
        MonitorQueries.pools(lease.cluster()),
        MonitorQueries.dangers(lease.cluster()));
  }

  /** The id of the cluster in the configuration. */
  public String clusterId() {
    return lease.config().clusterId();
  }

  /**
   * A pool by its id, in the namespace of a storage's journals; empty when it is gone, with
   * everything in it.
   */
  public Optional<IoContext> io(Storage storage, long poolId) {
    try {
      return Optional.of(storage.open(lease, poolId));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /** Whether a pool is full, as the map says. */
  public boolean isFull(long poolId) {
    return pools.stream().anyMatch(pool -> pool.id() == poolId && pool.full());
  }
}
