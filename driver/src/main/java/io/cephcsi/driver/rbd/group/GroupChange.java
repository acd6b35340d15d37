package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupMember;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Changes the members of a volume group: adds images to the RBD group, writes the members to the
 * journal in one step, then removes images from the RBD group. For one call.
 *
 * @param group the group
 * @param members its volumes
 */
record GroupChange(OpenGroup group, GroupMembers members) {
  private static final Logger LOG = LoggerFactory.getLogger(GroupChange.class);

  /**
   * Makes some volumes the members.
   *
   * @param candidates all of them
   * @throws VolumeException FAILED_PRECONDITION if one cannot be grouped; ABORTED if another driver
   *     changes or deletes the group; then the members are those before
   */
  void carryOut(List<GroupedVolume> candidates) {
    long version = versionOf(group);
    GroupEntry before = group.reread();
    if (!before.members().equals(group.entry().members())) {
      throw changedMeanwhile(group.id().toString());
    }
    Set<VolumeId> wanted = GroupedVolume.ids(candidates);
    String groupId = group.requireGroupId();
    members.requireGroupable(
        candidates.stream().filter(c -> !before.members().contains(c.id())).toList(),
        Optional.of(groupId));
    List<GroupedVolume> attached = new ArrayList<>();
    try {
      members.attach(group.group(), groupId, candidates, attached);
      if (!wanted.equals(Set.copyOf(before.members()))
          && !group.journal().replaceMembers(before, version, wanted)) {
        throw changedMeanwhile(group.id().toString());
      }
    } catch (CephException.OutcomeUnknown e) {
      throw e; // the journal may have been written: surplus images are removed later
    } catch (CephException | VolumeException e) {
      undoAttach(attached);
      throw e;
    }
    requireNotDeleting(wanted, before);
    reconcile(candidates, before);
  }

  /**
   * The version of the entry's object, to be read before what a change is decided on.
   *
   * @throws VolumeException ABORTED if the group is being deleted
   */
  private static long versionOf(OpenGroup group) {
    GroupJournal.State state = group.journal().state(group.id().uuid());
    if (state.isBeingDeleted()) {
      throw beingDeleted(group);
    }
    return state.version();
  }

  /**
   * Removes images again that this call added, but for those of members: another driver that found
   * one in the group may have answered its own call.
   */
  private void undoAttach(List<GroupedVolume> attached) {
    if (attached.isEmpty()) {
      return;
    }
    try {
      members.settle(group);
    } catch (CephException | VolumeException e) {
      warn(e);
    }
  }

  /**
   * What is not a member any more, but was being deleted before, perhaps with the group by a driver
   * that died, stays a member: else only DeleteVolume of it would end that.
   */
  private void requireNotDeleting(Set<VolumeId> wanted, GroupEntry before) {
    List<VolumeId> removed =
        before.members().stream().filter(member -> !wanted.contains(member)).toList();
    Optional<VolumeId> deleting = members.beingDeleted(removed);
    if (deleting.isPresent()) {
      restore(wanted, before, List.of());
      throw new VolumeException(
          Reason.ABORTED,
          "volume "
              + deleting.get()
              + " is being deleted, perhaps with its group; repeat the deletion until it succeeds,"
              + " or this call later");
    }
  }

  /** Removes the others. */
  private void reconcile(List<GroupedVolume> candidates, GroupEntry before) {
    List<GroupMember> detached = new ArrayList<>();
    try {
      members.settle(group, candidates, detached);
    } catch (CephException.OutcomeUnknown e) {
      throw e;
    } catch (CephException e) {
      restore(GroupedVolume.ids(candidates), before, detached);
      throw e;
    }
  }

  /**
   * Images first in, then the journal, then images out: as in every change. What another driver has
   * written since stays, as that may have been answered.
   */
  private void restore(Set<VolumeId> written, GroupEntry before, List<GroupMember> detached) {
    try {
      long version = versionOf(group);
      GroupEntry now = group.reread();
      if (Set.copyOf(now.members()).equals(written)) {
        members.undoDetach(group.group(), detached);
        group.journal().replaceMembers(now, version, before.members());
      }
      members.settle(group);
    } catch (CephException | VolumeException e) {
      warn(e);
    }
  }

  private void warn(RuntimeException failure) {
    LOG.warn(
        "the failed change of volume group {} could not be undone; repeat the call: {}",
        group.id(),
        failure.toString());
  }

  static VolumeException beingDeleted(OpenGroup group) {
    return new VolumeException(
        Reason.ABORTED,
        "volume group "
            + group.id()
            + " is being deleted; repeat DeleteVolumeGroup until it succeeds, or this call later");
  }

  static VolumeException changedMeanwhile(String group) {
    return new VolumeException(
        Reason.ABORTED,
        "volume group " + group + " is being changed or deleted by another driver; try again");
  }
}
