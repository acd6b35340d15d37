package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.driver.rbd.session.OpenVolume;

/** What the deletion of a volume needs of RBD groups. */
public interface ImageGroups {
  /**
   * Takes the image of a volume out of a group that a process which died left it in.
   *
   * @param link the group, as the image's header has it
   * @throws io.cephcsi.driver.volume.VolumeException FAILED_PRECONDITION naming the group, if the
   *     volume is a member of it; ABORTED while a snapshot is being taken
   */
  void removeFromGroup(OpenVolume volume, String imageId, GroupLink link);

  /** Completes or removes interrupted group snapshots that an image has a part of. */
  void endSnapshots(OpenVolume volume, String imageId);
}
