package io.cephcsi.driver.cluster;

import io.cephcsi.driver.volume.Attachment;
import io.cephcsi.driver.volume.VolumeId;

/** Which nodes have which volumes. Blocks on the cluster; safe for several threads. */
public interface VolumeAttachments {
  /**
   * Gives a volume to a node.
   *
   * @throws io.cephcsi.driver.volume.VolumeException NOT_FOUND if the volume or node does not
   *     exist; ALREADY_EXISTS if the node has it in another way; FAILED_PRECONDITION if another
   *     node has it and it cannot be on both; RESOURCE_EXHAUSTED if the node has as many volumes as
   *     it can have
   */
  void attach(VolumeId id, Attachment wanted, Credentials credentials);

  /**
   * Takes a volume from a node; one that does not exist, or that the node does not have, is taken
   * already.
   *
   * @param nodeId the node; empty for all nodes
   */
  void detach(VolumeId id, String nodeId, Credentials credentials);

  /** What calls that attach or detach a volume lock; does not block. */
  default String key(VolumeId id) {
    return id.toString();
  }
}
