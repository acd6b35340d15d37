package io.cephcsi.driver.cluster;

import java.util.Map;

/**
 * The cluster that the RBD volumes of another one are mirrored to.
 *
 * @param clusterId its id in the configuration of its drivers
 * @param poolIds the ids of its pools, by the names of the pools that are mirrored there
 */
public record ReplicationTarget(String clusterId, Map<String, Long> poolIds) {
  /** Copies the map. */
  public ReplicationTarget {
    poolIds = Map.copyOf(poolIds);
  }
}
