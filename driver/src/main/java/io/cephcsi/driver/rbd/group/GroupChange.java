package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupMember;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
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
  private static final int PASSES = 10;

  /**
   * Makes some volumes the members.
   *
   * @param candidates all of them
   * @throws VolumeException FAILED_PRECONDITION if one cannot be grouped; ABORTED if another driver
   *     changes the group; then the members are those before
   */
  void carryOut(List<GroupedVolume> candidates) {
    long version = group.journal().version(group.id().uuid());
    GroupEntry before = group.reread();
    if (!before.members().equals(group.entry().members())) {
      throw changedMeanwhile(group.id().toString());
    }
    Set<VolumeId> wanted = ids(candidates);
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
      members.undoAttach(group.group(), attached);
      throw e;
    }
    requireNotDeleting(wanted, before, attached);
    reconcile(groupId, candidates, before, attached);
  }

  /**
   * What is not a member any more must not be deleted with the group: who does that marks the
   * volumes, and then looks whether they are members.
   */
  private void requireNotDeleting(
      Set<VolumeId> wanted, GroupEntry before, List<GroupedVolume> attached) {
    List<VolumeId> removed =
        before.members().stream().filter(member -> !wanted.contains(member)).toList();
    Optional<VolumeId> deleting = members.beingDeleted(removed);
    if (deleting.isPresent()) {
      restore(wanted, before, attached, List.of());
      throw new VolumeException(
          Reason.ABORTED,
          "volume "
              + deleting.get()
              + " is being deleted, perhaps with its group; repeat the deletion, or this call"
              + " later");
    }
  }

  /**
   * Removes the others. Another driver may have changed the members since: a driver that adds
   * images or takes some out looks at the journal again afterwards, so that the last one to do so
   * leaves those of the members. Usually one pass, or two when images were taken out.
   */
  private void reconcile(
      String groupId,
      List<GroupedVolume> candidates,
      GroupEntry before,
      List<GroupedVolume> attached) {
    List<GroupMember> detached = new ArrayList<>();
    try {
      List<GroupedVolume> staying = candidates;
      for (int pass = 1; members.reconcile(group.group(), groupId, staying, detached); pass++) {
        if (pass == PASSES) {
          throw changedMeanwhile(group.id().toString());
        }
        staying = current(candidates);
      }
    } catch (CephException.OutcomeUnknown e) {
      throw e;
    } catch (CephException e) {
      restore(ids(candidates), before, attached, detached);
      throw e;
    }
  }

  /** The members as the journal has them now; one round trip unless they were changed. */
  private List<GroupedVolume> current(List<GroupedVolume> candidates) {
    Set<VolumeId> now = Set.copyOf(group.reread().members());
    return now.equals(ids(candidates)) ? candidates : members.existing(now);
  }

  private static Set<VolumeId> ids(List<GroupedVolume> volumes) {
    return volumes.stream().map(GroupedVolume::id).collect(Collectors.toUnmodifiableSet());
  }

  /** Images first in, then the journal, then images out: as in every change. */
  private void restore(
      Set<VolumeId> written,
      GroupEntry before,
      List<GroupedVolume> attached,
      List<GroupMember> detached) {
    try {
      long version = group.journal().version(group.id().uuid());
      GroupEntry now = group.reread();
      if (!Set.copyOf(now.members()).equals(written)) {
        // Another driver has changed them since, and answered: this call may have taken some out.
        List<GroupedVolume> theirs = members.existing(Set.copyOf(now.members()));
        members.reconcile(group.group(), group.requireGroupId(), theirs, new ArrayList<>());
        return;
      }
      members.undoDetach(group.group(), detached);
      if (group.journal().replaceMembers(now, version, before.members())) {
        members.undoAttach(group.group(), attached);
      }
    } catch (CephException | VolumeException e) {
      LOG.warn(
          "the failed change of volume group {} could not be undone; repeat the call: {}",
          group.id(),
          e.toString());
    }
  }

  static VolumeException changedMeanwhile(String group) {
    return new VolumeException(
        Reason.ABORTED, "volume group " + group + " is being changed by another driver; try again");
  }
}
