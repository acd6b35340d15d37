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

/** Which nodes have which CephFS volumes. */
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
          CephFsVolumes.requireData(volume);
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

  private static AttachmentJournal journal(OpenVolume volume) {
    return new AttachmentJournal(volume.files().instanceId(), volume.files().metadata());
  }
}
