package io.cephcsi.driver.rbd.volume;

import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.cluster.MonitorQueries.PoolSpace;
import io.cephcsi.driver.cluster.PoolInfo;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.TopologyPools;
import io.cephcsi.driver.volume.Capacity;
import io.cephcsi.driver.volume.VolumeException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** The free space of pools. Blocks on the cluster. Safe for several threads. */
public final class RbdCapacity implements Capacity.Source {
  private final DriverConnections access;

  /**
   * @param access the clusters
   */
  public RbdCapacity(DriverConnections access) {
    this.access = access;
  }

  /**
   * The room of the pool that takes the data of such volumes, or of the topology's pool. One round
   * trip.
   */
  @Override
  public Capacity of(Map<String, String> parameters, Map<String, String> topology) {
    TopologyPools pools = TopologyPools.parse(parameters);
    List<TopologyPools.Choice> choices =
        topology.isEmpty() ? List.of() : pools.choose(topology).stream().toList();
    if (choices.isEmpty() && !pools.isEmpty() && !topology.isEmpty()) {
      return new Capacity(0, OptionalLong.empty()); // no pool for that topology
    }
    RbdParameters wanted = RbdParameters.parse(parameters, choices);
    String data = wanted.options().dataPool().orElse(wanted.pool());
    String images = wanted.pool();
    return access.connected(
        access.require(wanted.clusterId()),
        lease -> {
          Map<String, PoolSpace> space = MonitorQueries.space(lease.cluster());
          require(lease, space, images);
          PoolSpace pool = require(lease, space, data);
          return new Capacity(
              pool.available(),
              pool.quota() > 0 ? OptionalLong.of(pool.quota()) : OptionalLong.empty());
        });
  }

  private static PoolSpace require(Lease lease, Map<String, PoolSpace> space, String pool) {
    PoolSpace found = space.get(pool);
    if (found == null) {
      throw VolumeException.invalid(
          "parameters: cluster \"" + lease.config().clusterId() + "\" has no pool " + pool);
    }
    return found;
  }

  /**
   * The room on all clusters: of each, that of the pool with most free space. Pools of a cluster
   * share its disks, so adding them up would count the same room several times. Two round trips for
   * each.
   */
  @Override
  public Capacity ofAll() {
    Map<String, Long> free = new HashMap<>(); // several clusterIDs may be one cluster
    for (var cluster : access.allClusters()) {
      access.connected(
          cluster,
          lease -> free.computeIfAbsent(lease.cluster().fsid(), fsid -> mostFreeSpace(lease)));
    }
    return new Capacity(
        free.values().stream().mapToLong(Long::longValue).sum(), OptionalLong.empty());
  }

  private static long mostFreeSpace(Lease lease) {
    Map<String, PoolSpace> space = MonitorQueries.space(lease.cluster());
    return MonitorQueries.pools(lease.cluster()).stream()
        .filter(PoolInfo::mayHoldRbd)
        .map(pool -> space.get(pool.name()))
        .mapToLong(found -> found == null ? 0 : found.available())
        .max()
        .orElse(0);
  }
}
