package io.cephcsi.driver.rbd.volume;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.NodeRegistry;
import io.cephcsi.driver.cluster.VolumeAttachments;
import io.cephcsi.driver.journal.NodeVolumes;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.volume.Attachment;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;

/** Which nodes have which RBD volumes. */
public final class RbdAttachments implements VolumeAttachments {
  private final RbdSessions sessions;
  private final NodeRegistry nodes;

  /**
   * @param sessions of the calls
   * @param nodes the nodes that exist
   */
  public RbdAttachments(RbdSessions sessions, NodeRegistry nodes) {
    this.sessions = sessions;
    this.nodes = nodes;
  }

  @Override
  public void attach(VolumeId id, Attachment wanted, Credentials credentials) {
    sessions.with(
        id,
        credentials,
        volume -> {
          volume.requireImage();
          new NodeVolumes(
                  nodes,
                  volume.lease(),
                  volume.pool().io(),
                  volume.session().settings().instanceId())
              .attach(id, volume.entry(), wanted);
          return null;
        });
  }

  @Override
  public void detach(VolumeId id, String nodeId, Credentials credentials) {
    try {
      sessions.with(
          id,
          credentials,
          volume -> {
            volume.attachments().detach(id, volume.entry(), nodeId);
            return null;
          });
    } catch (VolumeException e) {
      if (e.reason() != Reason.NOT_FOUND) {
        throw e;
      }
    }
  }
}
