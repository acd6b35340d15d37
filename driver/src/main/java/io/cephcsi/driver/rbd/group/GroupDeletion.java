package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.GroupMember;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.GroupSnapshot;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.volume.VolumeDeletion;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes a volume group: marks and checks all volumes first, then marks the group, unless its
 * members have changed since they were read; from then on no driver changes them. Then removes each
 * volume from the RBD group and deletes it, then removes the RBD group, and the journal entry last.
 * A repeated call continues after a crash. Nothing tells a driver that died from one that is slow:
 * the mark that was written last counts, and who has not written that one deletes no other volume.
 * What was marked before a call stays so when the call fails.
 *
 * @param group the group
 */
record GroupDeletion(OpenGroup group) {
  private static final Logger LOG = LoggerFactory.getLogger(GroupDeletion.class);

  void carryOut(boolean keepVolumes) {
    OperationRegistry operations = group.session().operations();
    List<String> ids = group.entry().members().stream().map(VolumeId::toString).toList();
    try (OperationRegistry.Hold name =
            operations.hold(
                OperationRegistry.groupName(group.entry().journal().requestName()),
                "DeleteVolumeGroup");
        OperationRegistry.Hold hold = operations.holdAll(ids, "DeleteVolumeGroup")) {
      requireNoSnapshots();
      GroupJournal.State read = stateOfMembers();
      try {
        carryOut(keepVolumes, read);
      } catch (VolumeException e) {
        throw read.isBeingDeleted() && e.reason() != Reason.ABORTED ? staysMarked(e) : e;
      }
    }
  }

  private void carryOut(boolean keepVolumes, GroupJournal.State read) {
    String groupId = group.groupId().orElse("");
    List<OpenVolume> ours = ours(groupId);
    if (keepVolumes && !ours.isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume group "
              + group.id()
              + " has "
              + ours.size()
              + " volumes: remove them from the group first, as this driver deletes only"
              + " empty groups");
    }
    deleteWith(ours, groupId, read);
  }

  private VolumeException staysMarked(VolumeException e) {
    return new VolumeException(
        e.reason(),
        e.getMessage()
            + "; volume group "
            + group.id()
            + " was marked as being deleted before this call, and stays so, as another driver may"
            + " be at it: its members cannot be changed until DeleteVolumeGroup succeeds",
        e);
  }

  /**
   * The entry's object when it has the members that this call works on.
   *
   * @throws VolumeException ABORTED if it has others by now, or is gone
   */
  private GroupJournal.State stateOfMembers() {
    try {
      GroupJournal.State state = group.journal().state(group.id().uuid());
      if (group.reread().members().equals(group.entry().members())) {
        return state;
      }
    } catch (CephException.NotFound e) {
      LOG.debug("volume group {} was deleted meanwhile", group.id());
    }
    throw GroupChange.changedMeanwhile(group.id().toString());
  }

  private void requireNoSnapshots() {
    List<GroupSnapshot> left = group.group().snapshots();
    if (!left.isEmpty()) {
      GroupSnapshotRecovery recovery = new GroupSnapshotRecovery(group.session());
      left.forEach(one -> recovery.finish(group.pool().io(), one.name()));
      left = group.group().snapshots();
    }
    int count = left.size();
    if (count > 0) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume group " + group.id() + " has " + count + " snapshots: delete them first");
    }
  }

  /**
   * The members that really are in the group, or whose deletion with it has begun before. What a
   * half-made group only meant to have stays, and so does what is in another pool.
   *
   * @throws VolumeException FAILED_PRECONDITION if a volume of another pool is in the group
   */
  private List<OpenVolume> ours(String groupId) {
    List<OpenVolume> ours = new ArrayList<>();
    long poolId = group.pool().io().poolId();
    for (VolumeId id : group.entry().members()) {
      Optional<OpenVolume> volume = group.session().find(id);
      Optional<GroupedVolume> grouped = volume.flatMap(GroupedVolume::of);
      Optional<GroupLink> link = grouped.map(GroupedVolume::header).flatMap(ImageHeader::group);
      boolean isIn = link.equals(Optional.of(new GroupLink(poolId, groupId)));
      boolean here = id.location() == poolId;
      if (isIn && !here) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            "volume " + id + " is in another pool than its group: remove it from the group first");
      } else if (isIn) {
        ours.add(volume.orElseThrow());
      } else if (volume.isPresent()
          && here
          && link.isEmpty()
          && AttachmentJournal.isBeingDeleted(volume.get().entry())) {
        ours.add(volume.get());
      } else if (volume.isPresent()) {
        LOG.info(
            "volume {} is not deleted with the group: it is not in RBD group {}",
            id,
            group.entry().name());
      }
    }
    return ours;
  }

  private void deleteWith(List<OpenVolume> ours, String groupId, GroupJournal.State read) {
    Deque<VolumeDeletion> pending = new ArrayDeque<>();
    try {
      for (OpenVolume volume : ours) {
        VolumeDeletion deletion = VolumeDeletion.withGroup(volume, new StaleGroupMembers());
        pending.add(deletion);
        if (!deletion.begin()) {
          pending.removeLast().close();
        }
      }
      pending.forEach(deletion -> deletion.requirePossible(groupId));
      long marked = mark(read);
      try {
        deleteAll(pending, marked);
      } catch (CephException.OutcomeUnknown e) {
        warnOfMark(e); // what has no answer may still be carried out
        throw e;
      } catch (CephException | VolumeException e) {
        if (!read.isBeingDeleted()) {
          unmark(marked);
        }
        throw e;
      }
    } finally {
      pending.forEach(VolumeDeletion::cancel);
      pending.forEach(VolumeDeletion::close);
    }
  }

  private long mark(GroupJournal.State read) {
    try {
      return group
          .journal()
          .markDeleting(group.entry().journal(), read.version())
          .orElseThrow(() -> GroupChange.changedMeanwhile(group.id().toString()));
    } catch (CephException.OutcomeUnknown e) {
      warnOfMark(e);
      throw e;
    }
  }

  private void deleteAll(Deque<VolumeDeletion> pending, long marked) {
    while (!pending.isEmpty()) {
      try (VolumeDeletion deletion = pending.removeFirst()) {
        delete(deletion);
      }
      requireMarked(marked);
    }
    group.remove();
    group.journal().remove(group.entry().journal());
  }

  /**
   * Requires that nobody has written the entry since this call marked it, be it to mark it anew;
   * one round trip.
   *
   * @throws VolumeException ABORTED if somebody has, or has removed it
   */
  private void requireMarked(long marked) {
    try {
      if (group.journal().version(group.id().uuid()) == marked) {
        return;
      }
    } catch (CephException.NotFound e) {
      LOG.debug("volume group {} was deleted by another driver", group.id());
    }
    throw GroupChange.changedMeanwhile(group.id().toString());
  }

  private void unmark(long marked) {
    try {
      group.journal().unmarkDeleting(group.entry().journal(), marked);
    } catch (CephException e) {
      warnOfMark(e);
    }
  }

  private void warnOfMark(CephException e) {
    LOG.warn(
        "volume group {} may stay marked as being deleted: its members cannot be changed then until"
            + " DeleteVolumeGroup succeeds: {}",
        group.id(),
        e.toString());
  }

  private void delete(VolumeDeletion deletion) {
    Optional<GroupMember> image =
        GroupedVolume.of(deletion.volume())
            .map(member -> new GroupMember(member.id().location(), member.imageId(), true));
    image.ifPresent(member -> GroupMembers.detach(group.group(), group.pool(), member.imageId()));
    try {
      deletion.carryOut();
    } catch (VolumeException e) {
      image.ifPresent(this::putBack); // somebody has just opened it
      throw e;
    } catch (CephException.OwnerSilent e) {
      if (!e.isUnderWay()) { // nor is it marked any more
        image.ifPresent(this::putBack);
      }
      throw e;
    }
  }

  /** It stays, and so it stays in the group: a repeated call would leave it out. */
  private void putBack(GroupMember member) {
    new GroupMembers(group.session()).undoDetach(group.group(), List.of(member));
  }
}
