package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.cluster.MonitorQueries.PoolSpace;
import io.cephcsi.driver.volume.Capacity;
import io.cephcsi.driver.volume.VolumeException;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;

/** The free space of file systems. Blocks on the cluster. Safe for several threads. */
public final class CephFsCapacity implements Capacity.Source {
  private final DriverConnections access;

  /**
   * @param access the clusters
   */
  public CephFsCapacity(DriverConnections access) {
    this.access = access;
  }

  /** The room of the pool that takes the files of such volumes. Two round trips. */
  @Override
  public Capacity of(Map<String, String> parameters, Map<String, String> topology) {
    CephFsParameters wanted = CephFsParameters.parse(parameters);
    return access.connected(
        access.require(wanted.clusterId()),
        lease -> {
          OpenFileSystem files = OpenFileSystem.named(lease, wanted.fileSystem(), "");
          String pool = wanted.pool().orElseGet(() -> defaultPool(lease, files.info()));
          PoolSpace space = MonitorQueries.space(lease.cluster()).get(pool);
          if (space == null) {
            throw VolumeException.invalid(
                "parameters: cluster \"" + wanted.clusterId() + "\" has no pool " + pool);
          }
          return new Capacity(
              space.available(),
              space.quota() > 0 ? OptionalLong.of(space.quota()) : OptionalLong.empty());
        });
  }

  private static String defaultPool(Lease lease, FileSystemInfo info) {
    return lease.cluster().poolName(info.dataPoolIds().get(0));
  }

  /**
   * The room on all clusters: of each, that of the data pool with most free space of its file
   * systems; pools of a cluster share its disks. Two round trips for each.
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
    return MonitorQueries.fileSystems(lease.cluster()).stream()
        .flatMap(info -> info.dataPoolIds().stream())
        .map(pool -> space.get(lease.cluster().poolName(pool)))
        .mapToLong(found -> found == null ? 0 : found.available())
        .max()
        .orElse(0);
  }
}
