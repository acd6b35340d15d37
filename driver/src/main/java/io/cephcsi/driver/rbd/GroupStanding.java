package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What it means that an image is in an RBD group. The journal says who the members of a volume
 * group are; their images are in the RBD group before they become members and until after they have
 * ceased to be. An image in the group of a journal entry that does not have it as a member was left
 * there by a process that died, and may be taken out.
 *
 * @param kind what it means
 * @param pool the pool of the group
 * @param group the group, for messages, or its name where the image was left in it
 * @param snapshot what the group was made for, if that is a snapshot
 */
record GroupStanding(Kind kind, RbdPool pool, String group, Optional<OpenGroup> snapshot) {
  private static final Logger LOG = LoggerFactory.getLogger(GroupStanding.class);

  /** What it means. */
  enum Kind {
    /** The volume is a member of a volume group. */
    MEMBER,
    /** The group was made to take a snapshot of it and others. */
    SNAPSHOT,
    /** It was left in the group by a process that died. */
    STALE,
    /** The group was removed while the image was put in: it has no name any more. */
    VANISHED,
    /** No driver made the group. */
    FOREIGN
  }

  /** Finds out; two round trips. */
  static GroupStanding of(GroupSnapshotRecovery recovery, OpenVolume volume, GroupLink link) {
    IoContext io;
    try {
      io = volume.lease().rbdPool(link.poolId());
    } catch (CephException.NotFound e) {
      return plain(Kind.FOREIGN, volume.pool(), "with id " + link.groupId());
    }
    RbdPool pool = new RbdPool(io);
    Optional<String> name = GroupHeader.name(io, link.groupId());
    if (name.isEmpty()) {
      // With snapshots it is not one that an image has made anew: perhaps the directory is damaged.
      Kind kind = GroupHeader.hasSnapshots(io, link.groupId()) ? Kind.FOREIGN : Kind.VANISHED;
      return plain(kind, pool, "with id " + link.groupId());
    }
    Optional<OpenGroup> group = recovery.find(volume.lease(), io, name.get());
    if (group.isEmpty()) {
      return plain(Kind.FOREIGN, pool, io.pool() + "/" + name.get());
    }
    if (group.get().entry().isOfSnapshots()) {
      return new GroupStanding(Kind.SNAPSHOT, pool, name.get(), group);
    }
    return has(group.get().entry(), volume.id())
        ? plain(Kind.MEMBER, pool, group.get().id().toString())
        : plain(Kind.STALE, pool, name.get());
  }

  private static GroupStanding plain(Kind kind, RbdPool pool, String group) {
    return new GroupStanding(kind, pool, group, Optional.empty());
  }

  /** Several ids in the configuration may stand for the same cluster. */
  private static boolean has(GroupEntry entry, VolumeId volume) {
    return entry.members().stream()
        .anyMatch(id -> id.uuid().equals(volume.uuid()) && id.location() == volume.location());
  }

  /**
   * Refuses what cannot be done to a volume in a group, and takes an image out that was left in
   * one.
   *
   * @throws VolumeException FAILED_PRECONDITION naming the group; ABORTED while a snapshot is being
   *     taken
   */
  static void requireNone(
      GroupSnapshotRecovery recovery, OpenVolume volume, String imageId, Optional<GroupLink> link) {
    if (link.isEmpty()) {
      return;
    }
    GroupStanding standing = of(recovery, volume, link.get());
    if (standing.kind() == Kind.FOREIGN && !isIn(volume, imageId, link.get())) {
      return; // the group has gone since
    }
    standing.requireFree(volume.id());
    if (standing.snapshot().isPresent()) {
      recovery.settle(standing.snapshot().get());
    } else if (standing.kind() == Kind.VANISHED) {
      LOG.info("image {} was left in group {}, which is gone", imageId, link.get().groupId());
      GroupHeader.forget(volume.pool().io(), imageId, link.get());
      if (link.get().poolId() == volume.pool().io().poolId()) { // the header may name any pool
        GroupHeader.removeRemnant(standing.pool.io(), link.get().groupId());
      }
    } else {
      standing.detach(volume.pool(), imageId);
    }
  }

  private static boolean isIn(OpenVolume volume, String imageId, GroupLink link) {
    return ImageHeader.read(volume.pool().io(), imageId)
        .flatMap(ImageHeader::group)
        .filter(link::equals)
        .isPresent();
  }

  /**
   * Refuses a volume that somebody put into a group.
   *
   * @throws VolumeException FAILED_PRECONDITION naming the group
   */
  void requireFree(VolumeId volume) {
    switch (kind) {
      case MEMBER ->
          throw new VolumeException(
              Reason.FAILED_PRECONDITION,
              "volume "
                  + volume
                  + " is a member of volume group "
                  + group
                  + ": remove it from the group first");
      case FOREIGN ->
          throw new VolumeException(
              Reason.FAILED_PRECONDITION,
              "the image of volume "
                  + volume
                  + " is in the RBD group "
                  + group
                  + ", which is not a volume group of CSI: take it out there first");
      case SNAPSHOT, STALE, VANISHED -> {}
    }
  }

  private void detach(RbdPool imagePool, String imageId) {
    LOG.info("image {} was left in the group {}; taking it out", imageId, group);
    try {
      pool.group(group).removeImageById(imagePool, imageId);
    } catch (CephException.NotFound e) {
      LOG.debug("image {} is out of group {} already", imageId, group);
    }
  }
}
