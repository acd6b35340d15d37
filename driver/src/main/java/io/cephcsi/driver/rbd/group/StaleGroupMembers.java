package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.volume.ImageGroups;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Removes images from RBD groups that an interrupted call left them in. Blocks on the cluster. */
public final class StaleGroupMembers implements ImageGroups {
  private static final Logger LOG = LoggerFactory.getLogger(StaleGroupMembers.class);

  @Override
  public void removeFromGroup(OpenVolume volume, String imageId, GroupLink link) {
    GroupMembership group = GroupMembership.of(volume, link);
    if (group.kind() == GroupMembership.Kind.FOREIGN && !isIn(volume, imageId, link)) {
      return; // the group has gone since
    }
    group.requireFree(volume.id());
    if (group.snapshot().isPresent()) {
      new GroupSnapshotRecovery(volume.session()).finish(group.snapshot().get());
    } else if (group.kind() == GroupMembership.Kind.VANISHED) {
      LOG.info(
          "image {} refers to RBD group {}, which does not exist: removing the reference",
          imageId,
          link.groupId());
      GroupHeader.forget(volume.pool().io(), imageId, link);
      if (link.poolId() == volume.pool().io().poolId()) { // the header may name any pool
        GroupHeader.removeRemnant(group.pool().io(), link.groupId());
      }
    } else {
      detach(group, volume.pool(), imageId);
    }
  }

  private static boolean isIn(OpenVolume volume, String imageId, GroupLink link) {
    return ImageHeader.read(volume.pool().io(), imageId)
        .flatMap(ImageHeader::group)
        .filter(link::equals)
        .isPresent();
  }

  private static void detach(GroupMembership group, RbdPool imagePool, String imageId) {
    LOG.info(
        "image {} was left in RBD group {} by an interrupted call: removing it from the group",
        imageId,
        group.group());
    try {
      group.pool().group(group.group()).removeImageById(imagePool, imageId);
    } catch (CephException.NotFound e) {
      LOG.debug("image {} is out of group {} already", imageId, group.group());
    }
  }

  @Override
  public void endSnapshots(OpenVolume volume, String imageId) {
    new GroupSnapshotRecovery(volume.session()).finishParts(volume.pool(), imageId);
    GroupParts.removeForgotten(volume.pool(), imageId);
  }
}
