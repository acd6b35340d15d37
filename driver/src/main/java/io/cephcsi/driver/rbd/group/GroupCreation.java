package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.PoolMismatchException;
import io.cephcsi.driver.rbd.parameters.GroupParameters;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates a volume group: reserves the name together with the members, then adds their images to
 * the RBD group. A repeated call continues after a crash. For one call.
 *
 * @param parameters of the VolumeGroupClass
 * @param wanted the members
 */
record GroupCreation(GroupParameters parameters, Set<VolumeId> wanted) {
  private static final Logger LOG = LoggerFactory.getLogger(GroupCreation.class);

  /**
   * Compares the entry that the name has with the request; one that was never completed becomes
   * what is asked for now.
   *
   * @param io where the RBD group is: if there is one, the entry may have been answered
   * @throws VolumeException ALREADY_EXISTS
   */
  void requireCompatible(GroupJournal journal, GroupEntry known, IoContext io) {
    String name = known.journal().requestName();
    if (known.isOfSnapshots()) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS, "the name " + name + " is used by a group snapshot");
    }
    if (!known.name().equals(parameters.namePrefix() + known.journal().uuid())) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "volume group " + name + " exists with another volumeNamePrefix, as " + known.name());
    }
    if (wanted.equals(new HashSet<>(known.members()))) {
      return;
    }
    long version = journal.version(known.journal().uuid());
    if (GroupHeader.id(io, known.name()).isPresent()) {
      requireSameMembers(known);
    }
    if (!journal.replaceMembers(known, version, wanted)) {
      throw GroupChange.changedMeanwhile(name);
    }
  }

  /** As {@link #requireCompatible}, of an entry that another driver has just reserved. */
  private void requireSameMembers(GroupEntry entry) {
    if (!wanted.equals(new HashSet<>(entry.members()))) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "volume group "
              + entry.journal().requestName()
              + " exists and has other volumes: "
              + entry.members());
    }
  }

  /**
   * Reserves the name together with the members.
   *
   * @throws VolumeException ALREADY_EXISTS if it belongs to another group
   */
  Journal.Reservation reserve(GroupJournal journal, IoContext io, String requestName) {
    Map<VolumeId, String> values = new HashMap<>();
    wanted.forEach(id -> values.put(id, ""));
    try {
      Journal.Reservation reservation =
          journal.reserve(requestName, new GroupNames(io, parameters.namePrefix()), values);
      requireSameMembers(new GroupEntry(reservation.entry()));
      return reservation;
    } catch (PoolMismatchException e) {
      throw new VolumeException(Reason.ALREADY_EXISTS, e.explain(), e);
    }
  }

  /**
   * Makes the RBD group have the images of the members and no others, and then writes the entry
   * once more: that fails if another driver has taken it over since.
   *
   * @param isNew whether this call reserved the name, and takes that back when it fails
   */
  void realize(OpenGroup group, List<GroupedVolume> candidates, boolean isNew) {
    GroupMembers members = new GroupMembers(group.session());
    long version = group.journal().version(group.id().uuid());
    requireSameMembers(group.reread());
    List<GroupedVolume> attached = new ArrayList<>();
    try {
      createGroup(group);
      String groupId = group.requireGroupId();
      members.attach(group.group(), groupId, candidates, attached);
      members.reconcile(group.group(), groupId, candidates, new ArrayList<>());
      if (!isStillOurs(group, version)) {
        throw GroupChange.changedMeanwhile(group.entry().journal().requestName());
      }
    } catch (CephException.OutcomeUnknown e) {
      throw e; // the outcome is unknown: the repeated call finds out
    } catch (CephException | VolumeException e) {
      members.undoAttach(group.group(), attached);
      if (isNew) {
        undo(group, version);
      }
      throw e;
    }
  }

  private boolean isStillOurs(OpenGroup group, long version) {
    return group.journal().replaceMembers(group.entry(), version, wanted)
        || wanted.equals(new HashSet<>(group.reread().members()));
  }

  private static void createGroup(OpenGroup group) {
    try {
      group.pool().createGroup(group.entry().name());
    } catch (CephException.AlreadyExists e) {
      LOG.debug("group {} is there already", group.entry().name());
    }
  }

  private void undo(OpenGroup group, long version) {
    try {
      OptionalLong ours = group.journal().replaced(group.entry(), version, wanted);
      if (ours.isEmpty()) {
        return; // it belongs to another driver's call by now
      }
      group.remove();
      group.journal().undo(group.entry().journal(), ours.getAsLong());
    } catch (CephException e) {
      LOG.warn(
          "the journal entry of {} could not be removed; the repeated call uses or"
              + " removes it: {}",
          group.id(),
          e.getMessage());
    }
  }
}
