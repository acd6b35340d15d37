package io.cephcsi.driver.rbd.group;

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
   * @param group if there is the RBD group, the entry may have been answered
   * @throws VolumeException ALREADY_EXISTS; ABORTED if it was being undone, which this ends, or is
   *     being deleted
   */
  void requireCompatible(OpenGroup group) {
    GroupEntry known = group.entry();
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
    long version = versionOf(group);
    if (group.groupId().isPresent()) {
      requireSameMembers(known);
    }
    if (!group.journal().replaceMembers(known, version, wanted)) {
      throw GroupChange.changedMeanwhile(name);
    }
  }

  /**
   * The version of an entry's object, to go on with it. What another call was undoing, which may
   * have died, is undone: that call removes nothing of another uuid, however late.
   */
  private static long versionOf(OpenGroup group) {
    GroupJournal.State state = group.journal().state(group.id().uuid());
    if (state.isUndone()) {
      remove(group, state.version());
      throw GroupChange.changedMeanwhile(group.entry().journal().requestName());
    }
    if (state.isBeingDeleted()) {
      throw GroupChange.beingDeleted(group);
    }
    return state.version();
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
   * @param isNew whether this call reserved the name, and takes that back when it fails, unless
   *     another driver went on with it
   */
  void realize(OpenGroup group, List<GroupedVolume> candidates, boolean isNew) {
    GroupMembers members = new GroupMembers(group.session());
    long version = versionOf(group);
    requireSameMembers(group.reread());
    boolean ours = isNew;
    try {
      ours = createGroup(group) && isNew; // one that was there may have been answered
      String groupId = group.requireGroupId();
      members.attach(group.group(), groupId, candidates, new ArrayList<>());
      members.reconcile(group.group(), groupId, candidates, new ArrayList<>());
      if (!isStillOurs(group, version)) {
        throw GroupChange.changedMeanwhile(group.entry().journal().requestName());
      }
    } catch (CephException.OutcomeUnknown e) {
      throw e; // the outcome is unknown: the repeated call finds out
    } catch (CephException | VolumeException e) {
      undo(group, members, version, ours);
      throw e;
    }
  }

  /** Another driver may have written it since: one that made it, too, or one that undoes it. */
  private boolean isStillOurs(OpenGroup group, long version) {
    return group.journal().replaceMembers(group.entry(), version, wanted) || isMadeByOther(group);
  }

  private boolean isMadeByOther(OpenGroup group) {
    return group
            .journal()
            .byUuid(group.id().uuid())
            .filter(now -> wanted.equals(new HashSet<>(now.members())))
            .isPresent()
        && !isUndone(group);
  }

  private static boolean isUndone(OpenGroup group) {
    try {
      return group.journal().state(group.id().uuid()).isUndone();
    } catch (CephException.NotFound e) {
      return true;
    }
  }

  /** False if it was there already. */
  private static boolean createGroup(OpenGroup group) {
    try {
      group.pool().createGroup(group.entry().name());
      return true;
    } catch (CephException.AlreadyExists e) {
      LOG.debug("group {} is there already", group.entry().name());
      return false;
    }
  }

  /**
   * Takes back what this call did. Where the entry belongs to another driver's call, which may have
   * been answered, the RBD group keeps the images of the members.
   *
   * @param ours whether nobody else had got the group at that version of the entry
   */
  private static void undo(OpenGroup group, GroupMembers members, long version, boolean ours) {
    try {
      OptionalLong marked =
          ours
              ? group.journal().markUndone(group.entry().journal(), version)
              : OptionalLong.empty();
      if (marked.isPresent()) {
        remove(group, marked.getAsLong());
      } else if (isUndone(group)) {
        group.remove(); // this call may have made it after the other one had removed it
      } else {
        members.settle(group);
      }
    } catch (CephException | VolumeException e) {
      LOG.warn(
          "the failed creation of volume group {} could not be undone; the repeated call goes on"
              + " with it or removes it: {}",
          group.id(),
          e.toString());
    }
  }

  private static void remove(OpenGroup group, long version) {
    group.remove();
    group.journal().undo(group.entry().journal(), version);
  }
}
