package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.parameters.GroupParameters;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeGroup;
import io.cephcsi.driver.volume.VolumeId;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * Volume groups as RBD groups.
 *
 * <p>One object of the journal has the members, so one write changes them. The RBD group always has
 * the images of all members, and during a change, or after a crash, others as well: images are
 * added before the journal is written, and removed after it. So after a crash the members are the
 * old or the new ones. The next change of the group removes images that are left over, and so does
 * the deletion of such a volume or its addition to another group.
 *
 * <p>All calls block on the cluster and may be repeated after a crash at any point. Locks: the
 * caller has that of the name (create) or the id; then come those of volumes, in the order of their
 * ids.
 */
public final class RbdGroups {
  /** The most members of a group. */
  public static final int MAX_MEMBERS = 500;

  private final RbdSessions sessions;

  /**
   * @param sessions of the calls
   */
  public RbdGroups(RbdSessions sessions) {
    this.sessions = sessions;
  }

  /**
   * Makes a group, or gives the one that the name has.
   *
   * @param requestName the name that the CO chose
   * @param wanted its members; may be empty
   * @throws VolumeException ALREADY_EXISTS if the name's group has other members or parameters;
   *     INVALID_ARGUMENT for volumes of another pool or cluster; NOT_FOUND for a volume that does
   *     not exist; FAILED_PRECONDITION for one that is in another group; RESOURCE_EXHAUSTED for too
   *     many
   */
  public VolumeGroup create(
      String requestName, GroupParameters parameters, Set<VolumeId> wanted, Credentials user) {
    requireFew(wanted);
    return sessions.in(
        sessions.clusters().require(parameters.clusterId()),
        user,
        session -> {
          IoContext io = session.requirePool(parameters.pool());
          IoContext journalPool = session.requirePool(parameters.journalPool());
          requireSamePool(wanted, session.clusterId(), io);
          GroupMembers members = new GroupMembers(session);
          try (OperationRegistry.Hold hold = holdVolumes(session, wanted, "CreateVolumeGroup")) {
            List<GroupedVolume> candidates = members.requireAll(wanted, io);
            GroupJournal journal = session.groupJournal(journalPool, io);
            Optional<GroupEntry> known = journal.byName(requestName);
            Optional<String> groupId = known.flatMap(e -> GroupHeader.id(io, e.name()));
            GroupCreation creation = new GroupCreation(parameters, wanted);
            if (known.isPresent()) {
              creation.requireCompatible(OpenGroup.of(session, io, journalPool, known.get()));
            }
            members.requireGroupable(candidates, groupId);
            Journal.Reservation reservation = creation.reserve(journal, io, requestName);
            OpenGroup group =
                OpenGroup.of(session, io, journalPool, new GroupEntry(reservation.entry()));
            try (OperationRegistry.Hold own =
                session.operations().hold(group.id().toString(), "CreateVolumeGroup")) {
              creation.realize(group, candidates, reservation.isNew());
            }
            return group.toGroup(candidates.stream().map(GroupedVolume::toVolume).toList());
          }
        });
  }

  private static void requireFew(Set<VolumeId> wanted) {
    if (wanted.size() > MAX_MEMBERS) {
      throw new VolumeException(
          Reason.RESOURCE_EXHAUSTED,
          "a group can have at most " + MAX_MEMBERS + " volumes, not " + wanted.size());
    }
  }

  private static void requireSamePool(Set<VolumeId> wanted, String clusterId, IoContext io) {
    for (VolumeId id : wanted) {
      if (!id.clusterId().equals(clusterId) || id.location() != io.poolId()) {
        throw VolumeException.invalid(
            "volume_ids: volume "
                + id
                + " is not in pool "
                + io.pool()
                + " of cluster \""
                + clusterId
                + "\", where the group is");
      }
    }
  }

  private static OperationRegistry.Hold holdVolumes(
      RbdSession session, Set<VolumeId> ids, String kind) {
    return session.operations().holdAll(ids.stream().map(VolumeId::toString).toList(), kind);
  }

  /**
   * Makes these the members of a group.
   *
   * @throws VolumeException NOT_FOUND if the group or a volume does not exist; INVALID_ARGUMENT for
   *     volumes of another pool or cluster; FAILED_PRECONDITION for one that is in another group;
   *     RESOURCE_EXHAUSTED for too many; then the members are those before
   */
  public VolumeGroup modify(VolumeId id, Set<VolumeId> wanted, Credentials user) {
    requireFew(wanted);
    return with(
        id,
        user,
        group -> {
          IoContext io = group.pool().io();
          requireSamePool(wanted, id.clusterId(), io);
          GroupMembers members = new GroupMembers(group.session());
          Set<VolumeId> old = new HashSet<>(group.entry().members());
          try (OperationRegistry.Hold hold =
              holdVolumes(
                  group.session(), difference(old, wanted), "ModifyVolumeGroupMembership")) {
            List<GroupedVolume> candidates = members.requireAll(wanted, io);
            new GroupChange(group, members).carryOut(candidates);
            return group.toGroup(candidates.stream().map(GroupedVolume::toVolume).toList());
          }
        });
  }

  private static Set<VolumeId> difference(Set<VolumeId> some, Set<VolumeId> others) {
    Set<VolumeId> different = new HashSet<>(some);
    different.addAll(others);
    different.removeIf(id -> some.contains(id) && others.contains(id));
    return different;
  }

  /**
   * Deletes a group with its volumes. One that does not exist is deleted already.
   *
   * @param keepVolumes whether a group that has volumes is refused instead
   * @throws VolumeException FAILED_PRECONDITION if the group has snapshots, a volume is in use, or
   *     volumes are kept; then nothing is deleted
   */
  public void delete(VolumeId id, boolean keepVolumes, Credentials user) {
    sessions.ifPresent(
        "volume group",
        id,
        user,
        (session, at) ->
            OpenGroup.find(session, at).filter(group -> !group.entry().isOfSnapshots()),
        group -> new GroupDeletion(group).carryOut(keepVolumes));
  }

  /**
   * A group with its members.
   *
   * @throws VolumeException NOT_FOUND if it does not exist
   */
  public VolumeGroup get(VolumeId id, Credentials user) {
    return with(
        id,
        user,
        group ->
            group.toGroup(new GroupMembers(group.session()).describe(group.entry().members())));
  }

  private <T> T with(VolumeId id, Credentials user, Function<OpenGroup, T> work) {
    return sessions.in(
        sessions.clusters().requireOf(id, "volume group"),
        user,
        session ->
            work.apply(
                OpenGroup.find(session, id)
                    .filter(group -> !group.entry().isOfSnapshots())
                    .filter(group -> group.groupId().isPresent())
                    .orElseThrow(() -> notFound(id))));
  }

  private static VolumeException notFound(VolumeId id) {
    return VolumeException.notFound("volume group " + id + " does not exist");
  }
}
