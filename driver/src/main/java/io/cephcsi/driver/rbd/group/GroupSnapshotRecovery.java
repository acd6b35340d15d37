package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.GroupSnapshotRef;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.rbd.session.RbdSession;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Completes or removes group snapshots of drivers that died and whose call was not repeated. Their
 * volumes are in an RBD group or have parts of its snapshot, and could not be deleted. If every
 * snapshot has its image, a caller may have got the group snapshot, and it is completed; otherwise
 * it is removed.
 *
 * @param session of the call
 */
record GroupSnapshotRecovery(RbdSession session) {
  private static final Logger LOG = LoggerFactory.getLogger(GroupSnapshotRecovery.class);

  /**
   * The entry that a name on the cluster belongs to: a group bears it, or a group's snapshot; one
   * round trip.
   *
   * @param io the pool of the group
   * @return empty if it is none of ours
   */
  Optional<OpenGroup> find(IoContext io, String name) {
    return ImageNames.uuidAtEnd(name)
        .flatMap(session.groupJournal(io)::byUuid)
        .filter(entry -> entry.name().equals(name))
        .map(entry -> OpenGroup.of(session, io, io, entry));
  }

  /** Settles all that an image has a part of. */
  void finishParts(RbdPool pool, String imageId) {
    for (GroupSnapshotRef ref : GroupSnapshotRemoval.partsOf(pool, imageId)) {
      try {
        IoContext io = session.lease().rbdPool(ref.groupPoolId());
        finish(io, ref.snapshotName());
      } catch (CephException.NotFound e) {
        LOG.debug("the pool of {} is gone", ref);
      }
    }
  }

  /** Settles the one that a snapshot of a group belongs to, if it is ours. */
  void finish(IoContext io, String snapshot) {
    find(io, snapshot).filter(group -> group.entry().isOfSnapshots()).ifPresent(this::finish);
  }

  /**
   * Takes a group's snapshot off its volumes.
   *
   * @throws io.cephcsi.driver.volume.VolumeException ABORTED if another driver works on it
   */
  void finish(OpenGroup begun) {
    String kind = "recovery of a group snapshot";
    try (OperationRegistry.Hold name =
            session
                .operations()
                .hold(OperationRegistry.groupName(begun.entry().journal().requestName()), kind);
        GroupSnapshotLock work = GroupSnapshotLock.begin(begun, kind)) {
      Optional<OpenGroup> current = work.current();
      if (current.isPresent()) {
        work.run(() -> finish(current.get(), work));
      }
    }
  }

  private void finish(OpenGroup group, GroupSnapshotLock work) {
    GroupSnapshotRemoval removal = new GroupSnapshotRemoval(group, work);
    List<JournalEntry> parts = removal.parts();
    boolean promised = GroupSnapshotRemoval.mayHaveBeenReturned(parts);
    LOG.info(
        "group snapshot {} was left unfinished by a driver that ended: {}",
        group.id(),
        promised ? "completing it" : "removing it, as no caller has got it");
    if (promised) {
      removal.cleanUp(parts);
    } else {
      removal.all();
    }
  }
}
