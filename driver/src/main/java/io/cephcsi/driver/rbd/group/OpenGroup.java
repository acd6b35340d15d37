package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdGroup;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeGroup;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A volume group that the journal knows, as one call works on it.
 *
 * @param session of the call
 * @param id its identifier
 * @param pool the pool of the group and of its volumes
 * @param journalPool the pool where its name is reserved
 * @param entry what the journal says
 */
record OpenGroup(
    RbdSession session, VolumeId id, RbdPool pool, IoContext journalPool, GroupEntry entry) {
  private static final Logger LOG = LoggerFactory.getLogger(OpenGroup.class);

  /** The group of an entry. */
  static OpenGroup of(RbdSession session, IoContext io, IoContext journalPool, GroupEntry entry) {
    VolumeId id = session.id(io, entry.journal().uuid());
    return new OpenGroup(session, id, new RbdPool(io), journalPool, entry);
  }

  /** A group that the journal knows, or a snapshot of one; one round trip. */
  static Optional<OpenGroup> find(RbdSession session, VolumeId id) {
    return session.pool(id).flatMap(io -> find(session, io, id.uuid()));
  }

  private static Optional<OpenGroup> find(RbdSession session, IoContext io, UUID uuid) {
    return session
        .groupJournal(io)
        .byUuid(uuid)
        .map(e -> of(session, io, session.journalPool(e.journal().journalPoolId(), io), e));
  }

  /** The journal of groups in its pools. */
  GroupJournal journal() {
    return session.groupJournal(journalPool, pool.io());
  }

  /** The identifier of what is in its pool. */
  VolumeId idOf(UUID uuid) {
    return session.id(pool.io(), uuid);
  }

  /** The same with what the journal says by now. */
  OpenGroup with(GroupEntry current) {
    return new OpenGroup(session, id, pool, journalPool, current);
  }

  /** The RBD group; it may not exist. */
  RbdGroup group() {
    return pool.group(entry.name());
  }

  /** The id of the RBD group; one round trip, empty if there is none. */
  Optional<String> groupId() {
    return GroupHeader.id(pool.io(), entry.name());
  }

  /**
   * The id of the RBD group; one round trip.
   *
   * @throws VolumeException ABORTED if it was deleted meanwhile
   */
  String requireGroupId() {
    return groupId()
        .orElseThrow(
            () ->
                new VolumeException(
                    VolumeException.Reason.ABORTED,
                    "volume group " + id + " was deleted meanwhile"));
  }

  /**
   * What the journal says now; one round trip.
   *
   * @throws VolumeException NOT_FOUND if it was deleted meanwhile
   */
  GroupEntry reread() {
    return journal()
        .byUuid(id.uuid())
        .orElseThrow(() -> VolumeException.notFound("volume group " + id + " does not exist"));
  }

  /**
   * Removes the RBD group, if there is one; its images stay.
   *
   * @throws VolumeException FAILED_PRECONDITION if it lists what is not in it, be it an image of
   *     another group or of a pool that is gone: librbd takes those for members
   */
  void remove() {
    try {
      pool.removeGroup(entry.name());
    } catch (CephException e) {
      boolean gone = e instanceof CephException.NotFound;
      if (gone && groupId().isEmpty()) {
        LOG.debug("group {} is gone already", entry.name());
      } else if (gone || e.errno() == Errno.EBADF) {
        throw new VolumeException(
            VolumeException.Reason.FAILED_PRECONDITION,
            "group "
                + pool.io().pool()
                + "/"
                + entry.name()
                + " cannot be removed, as it lists images that are not in it: remove these"
                + " keys with \"rados rmomapkey\" (\"rados listomapkeys rbd_group_header."
                + groupId().orElse("ID")
                + "\" shows pool and id of each)",
            e);
      } else {
        throw e;
      }
    }
  }

  /** The group as answers have it. */
  VolumeGroup toGroup(List<CreatedVolume> volumes) {
    return toGroup(id, pool.io(), journalPool, entry, volumes);
  }

  /** A group as answers have it. */
  static VolumeGroup toGroup(
      VolumeId id,
      IoContext io,
      IoContext journalPool,
      GroupEntry entry,
      List<CreatedVolume> volumes) {
    return new VolumeGroup(
        id,
        Map.of(
            "clusterID", id.clusterId(),
            "pool", io.pool(),
            "journalPool", journalPool.pool(),
            "groupName", entry.name()),
        volumes);
  }
}
