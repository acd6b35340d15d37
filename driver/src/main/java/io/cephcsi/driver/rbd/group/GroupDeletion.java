package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.GroupMember;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.rbd.GroupSnapshot;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.volume.VolumeDeletion;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes a volume group: marks and checks all volumes first, then removes each from the RBD group
 * and deletes it, then removes the RBD group, and the journal entry last. A repeated call continues
 * after a crash.
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
      deleteAll(ours, groupId);
      group.remove();
      group.journal().remove(group.entry().journal());
    }
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

  private void deleteAll(List<OpenVolume> ours, String groupId) {
    Deque<VolumeDeletion> pending = new ArrayDeque<>();
    try {
      for (OpenVolume volume : ours) {
        VolumeDeletion deletion = new VolumeDeletion(volume, new StaleGroupMembers());
        pending.add(deletion);
        if (!deletion.begin()) {
          pending.removeLast().close();
        }
      }
      requireStillMembers(pending); // as all are marked: who takes one out from now on sees that
      pending.forEach(deletion -> deletion.requirePossible(groupId));
      while (!pending.isEmpty()) {
        try (VolumeDeletion deletion = pending.removeFirst()) {
          delete(deletion);
        }
      }
    } finally {
      pending.forEach(VolumeDeletion::cancel);
      pending.forEach(VolumeDeletion::close);
    }
  }

  /** Another driver may have taken volumes out of the group since their links were read. */
  private void requireStillMembers(Collection<VolumeDeletion> marked) {
    if (marked.isEmpty()) {
      return;
    }
    Set<VolumeId> members = Set.copyOf(group.reread().members());
    if (!marked.stream().allMatch(deletion -> members.contains(deletion.volume().id()))) {
      throw GroupChange.changedMeanwhile(group.id().toString());
    }
  }

  private void delete(VolumeDeletion deletion) {
    Optional<GroupMember> image =
        GroupedVolume.of(deletion.volume())
            .map(member -> new GroupMember(member.id().location(), member.imageId(), true));
    image.ifPresent(member -> GroupMembers.detach(group.group(), group.pool(), member.imageId()));
    try {
      deletion.carryOut();
    } catch (VolumeException e) {
      // Somebody has just opened it: it stays, and so it stays in the group.
      image.ifPresent(
          member -> new GroupMembers(group.session()).undoDetach(group.group(), List.of(member)));
      throw e;
    }
  }
}
