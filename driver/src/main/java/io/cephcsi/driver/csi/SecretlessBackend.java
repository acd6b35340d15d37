package io.cephcsi.driver.csi;

import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.NodeRegistry;
import io.cephcsi.driver.cluster.VolumeAttachments;
import io.cephcsi.driver.volume.Capacity;
import io.cephcsi.driver.volume.Inventory;

/**
 * The calls of the controller whose requests carry no secrets; they use the driver's own
 * credentials.
 *
 * @param access the clusters, with those credentials
 * @param inventory lists
 * @param capacity room
 * @param attachments volumes on nodes
 * @param nodes the nodes that exist
 * @param alwaysAttach whether volumes are published even while no node is registered
 */
public record SecretlessBackend(
    DriverConnections access,
    Inventory inventory,
    Capacity.Source capacity,
    VolumeAttachments attachments,
    NodeRegistry nodes,
    boolean alwaysAttach) {
  /** Whether volumes are published to nodes as far as is known, without asking a cluster. */
  boolean isKnownToAttach() {
    return alwaysAttach || nodes.anySeen();
  }

  /**
   * Whether volumes are published to nodes; may block on the clusters until it is so once.
   *
   * @param first the id of the cluster to ask first; any other text for none
   * @throws io.cephcsi.driver.volume.VolumeException UNAVAILABLE if a cluster does not say so
   */
  boolean attaches(String first) {
    return alwaysAttach || nodes.anyRegistered(first);
  }
}
