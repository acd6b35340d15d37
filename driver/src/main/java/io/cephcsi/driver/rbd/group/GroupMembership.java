package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;

/**
 * How an image in an RBD group relates to the journal. The journal names the members of a volume
 * group; their images are added to the RBD group before that and removed after it. So an image in
 * the RBD group that is no member in the journal was left there by an interrupted call and may be
 * removed.
 *
 * @param kind what it means
 * @param pool the pool of the group
 * @param group the group, for messages, or its name where the image was left in it
 * @param snapshot what the group was made for, if that is a snapshot
 */
record GroupMembership(Kind kind, RbdPool pool, String group, Optional<OpenGroup> snapshot) {
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
  static GroupMembership of(OpenVolume volume, GroupLink link) {
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
    Optional<OpenGroup> group = new GroupSnapshotRecovery(volume.session()).find(io, name.get());
    if (group.isEmpty()) {
      return plain(Kind.FOREIGN, pool, io.pool() + "/" + name.get());
    }
    if (group.get().entry().isOfSnapshots()) {
      return new GroupMembership(Kind.SNAPSHOT, pool, name.get(), group);
    }
    return has(group.get().entry(), volume.id())
        ? plain(Kind.MEMBER, pool, group.get().id().toString())
        : plain(Kind.STALE, pool, name.get());
  }

  private static GroupMembership plain(Kind kind, RbdPool pool, String group) {
    return new GroupMembership(kind, pool, group, Optional.empty());
  }

  /** Several ids in the configuration may stand for the same cluster. */
  private static boolean has(GroupEntry entry, VolumeId volume) {
    return entry.members().stream()
        .anyMatch(id -> id.uuid().equals(volume.uuid()) && id.location() == volume.location());
  }

  /**
   * Refuses a volume that is in a group.
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
                  + ", which is not a CSI volume group: remove it from that group first");
      case SNAPSHOT, STALE, VANISHED -> {}
    }
  }
}
