package io.cephcsi.driver.csi;

import io.cephcsi.driver.cluster.DriverAccess;
import io.cephcsi.driver.rbd.NodeRegistry;
import io.cephcsi.driver.rbd.RbdAttachments;
import io.cephcsi.driver.rbd.RbdCapacity;
import io.cephcsi.driver.rbd.RbdInventory;

/**
 * What the RBD controller can do only with credentials of its own, because the requests carry none.
 *
 * @param access the clusters, with those credentials
 * @param inventory lists
 * @param capacity room
 * @param attachments volumes on nodes
 * @param nodes the nodes that exist
 * @param alwaysAttach whether volumes are published even while no node is registered
 */
public record OwnAccess(
    DriverAccess access,
    RbdInventory inventory,
    RbdCapacity capacity,
    RbdAttachments attachments,
    NodeRegistry nodes,
    boolean alwaysAttach) {
  /** Whether volumes are published to nodes; may block on the clusters until it is so once. */
  boolean attaches() {
    return alwaysAttach || nodes.anyRegistered();
  }
}
