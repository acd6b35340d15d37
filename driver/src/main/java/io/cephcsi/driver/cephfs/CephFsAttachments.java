package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.NodeRegistry;
import io.cephcsi.driver.cluster.VolumeAttachments;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.NodeVolumes;
import io.cephcsi.driver.volume.Attachment;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;

/**
 * Which nodes have which CephFS volumes. The manager is not asked whether a volume's data are
 * there: it may be silent, and the node finds out.
 */
public final class CephFsAttachments implements VolumeAttachments {
  private final CephFsVolumes volumes;
  private final NodeRegistry nodes;

  /**
   * @param volumes the volumes
   * @param nodes the nodes that exist
   */
  public CephFsAttachments(CephFsVolumes volumes, NodeRegistry nodes) {
    this.volumes = volumes;
    this.nodes = nodes;
  }

  @Override
  public void attach(VolumeId id, Attachment wanted, Credentials credentials) {
    volumes.with(
        id,
        credentials,
        volume -> {
          OpenFileSystem files = volume.files();
          new NodeVolumes(nodes, files.lease(), files.metadata(), files.instanceId())
              .attach(id, volume.entry(), wanted);
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
            journal(volume).detach(id, volume.entry(), nodeId);
            return null;
          });
    } catch (VolumeException e) {
      if (e.reason() != Reason.NOT_FOUND) {
        throw e;
      }
    }
  }

  /**
   * Apart from what other calls lock: a CreateVolume that waits for its copy of the volume would
   * keep it from being attached and detached. The journal keeps them apart from a DeleteVolume.
   */
  @Override
  public String key(VolumeId id) {
    return "volume " + id + " on nodes";
  }

  private static AttachmentJournal journal(OpenVolume volume) {
    return new AttachmentJournal(volume.files().instanceId(), volume.files().metadata());
  }
}
