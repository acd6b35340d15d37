package io.cephcsi.driver.rbd;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.NodeRegistry;
import io.cephcsi.driver.cluster.VolumeAttachments;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.volume.Attachment;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;

/** Which nodes have which RBD volumes. */
public final class RbdAttachments implements VolumeAttachments {
  private final RbdVolumes volumes;
  private final NodeRegistry nodes;
  private final String instanceId;

  /**
   * @param volumes the volumes
   * @param nodes the nodes that exist
   * @param instanceId tells several drivers on one pool apart
   */
  public RbdAttachments(RbdVolumes volumes, NodeRegistry nodes, String instanceId) {
    this.volumes = volumes;
    this.nodes = nodes;
    this.instanceId = instanceId;
  }

  @Override
  public void attach(VolumeId id, Attachment wanted, Credentials credentials) {
    volumes.with(
        id,
        credentials,
        volume -> {
          volume.requireImage();
          nodes.require(volume.lease(), volume.pool().io(), wanted.nodeId());
          new AttachmentJournal(instanceId, volume.pool().io()).attach(id, volume.entry(), wanted);
          return null;
        });
  }

  @Override
  public void detach(VolumeId id, String nodeId, Credentials credentials) {
    try {
      volumes.with(
          id,
          credentials,
          volume -> {
            new AttachmentJournal(instanceId, volume.pool().io())
                .detach(id, volume.entry(), nodeId);
            return null;
          });
    } catch (VolumeException e) {
      if (e.reason() != Reason.NOT_FOUND) {
        throw e;
      }
    }
  }
}
