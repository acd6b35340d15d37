package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.GroupMember;
import io.cephcsi.bindings.cls.InitialSnapshot;
import io.cephcsi.bindings.cls.SnapshotClone;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.GroupSnapshot;
import io.cephcsi.bindings.rbd.GroupSnapshotRef;
import io.cephcsi.bindings.rbd.RbdGroup;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Takes a reserved group snapshot: a snapshot of the RBD group, which is of one point in time;
 * then, for each image, a clone of its part with a snapshot, like every CSI snapshot; then removes
 * the snapshot of the RBD group, whose parts stay in the trash namespace for the clones.
 *
 * @param removal removes what is left over, of the entry whose name a group that is made for this
 *     bears
 * @param labels Kubernetes names for the images' metadata
 */
record GroupSnapshotCreation(GroupSnapshotRemoval removal, Map<String, String> labels) {
  /**
   * One of the snapshots.
   *
   * @param source the volume
   * @param entry its reservation
   */
  record Member(GroupedVolume source, JournalEntry entry) {}

  /**
   * Takes it, or completes an interrupted one.
   *
   * @param todo those without an image yet
   * @param all all of them
   * @param begun whether another call may have begun before
   * @throws VolumeException FAILED_PRECONDITION if the volumes cannot be in one group
   */
  void make(List<Member> todo, List<Member> all, boolean begun) {
    if (todo.isEmpty()) {
      removal.cleanUp(all.stream().map(Member::entry).toList());
      return;
    }
    try (SourceKeys keys = SourceKeys.of(todo.stream().map(Member::source).toList())) {
      make(todo, all, begun, keys);
    }
  }

  private void make(List<Member> todo, List<Member> all, boolean begun, SourceKeys keys) {
    Optional<RbdGroup> taken = begun ? taken(todo, all) : Optional.empty();
    RbdGroup rbdGroup = taken.orElseGet(() -> groupOf(all.stream().map(Member::source).toList()));
    List<InitialSnapshot> prepared = new ArrayList<>();
    try {
      // Asked for together, so that one change of the monitors' map makes all of them.
      todo.forEach(member -> prepared.add(InitialSnapshot.prepare(group().pool())));
      if (taken.isEmpty()) {
        removal.work().require();
        rbdGroup.createSnapshot(name());
      }
      for (int i = 0; i < todo.size(); i++) {
        removal.work().require();
        makeImage(rbdGroup, todo.get(i), prepared.get(i), keys);
      }
    } finally {
      prepared.forEach(InitialSnapshot::close);
    }
    removal.cleanUpIn(rbdGroup.name().equals(name()) ? List.of() : List.of(rbdGroup));
  }

  private GroupMembers members() {
    return new GroupMembers(group().session());
  }

  private OpenGroup group() {
    return removal.group();
  }

  /**
   * Where an earlier call took it, and was complete; what is not is removed. So is one of encrypted
   * volumes, whose passphrases may have been changed since.
   */
  private Optional<RbdGroup> taken(List<Member> todo, List<Member> all) {
    boolean usable = todo.stream().map(Member::source).noneMatch(SourceKeys::isEncrypted);
    Optional<RbdGroup> complete = Optional.empty();
    for (RbdGroup each :
        removal.groups(all.stream().map(member -> member.source().volume().imageName()).toList())) {
      Optional<GroupSnapshot> found = removal.taken(each);
      if (usable && found.isPresent() && found.get().complete() && complete.isEmpty()) {
        complete = Optional.of(each);
      } else if (found.isPresent()) {
        removal.work().require();
        removal.removeSnapshot(each);
      }
    }
    all.forEach(
        member ->
            GroupParts.removeForgotten(member.source().volume().pool(), member.source().imageId()));
    if (complete.isEmpty() && todo.size() < all.size()) {
      // A caller may have got it, or a driver began to remove it.
      throw GroupSnapshotRemoval.mayHaveBeenReturned(all.stream().map(Member::entry).toList())
          ? removal.missingPart()
          : removal.removeUnreturned();
    }
    return complete;
  }

  /** The group that the volumes alone are in, or else one that is made for this. */
  private RbdGroup groupOf(List<GroupedVolume> volumes) {
    Optional<String> own = group().groupId();
    Set<GroupLink> links =
        volumes.stream()
            .flatMap(volume -> volume.header().group().stream())
            .filter(link -> !own.equals(Optional.of(link.groupId())))
            .collect(Collectors.toSet());
    if (links.size() == 1 && own.isEmpty()) {
      Optional<RbdGroup> common = common(links.iterator().next(), volumes);
      if (common.isPresent()) {
        return common.get();
      }
    }
    members().requireGroupable(volumes, own);
    try {
      group().pool().createGroup(name());
    } catch (CephException.AlreadyExists e) {
      // by an interrupted call for this snapshot
    }
    removal.work().require();
    members().attach(group().group(), group().requireGroupId(), volumes, new ArrayList<>());
    return group().group();
  }

  /** A volume's header may name any group of any pool, and that group's list any image of any. */
  private Optional<RbdGroup> common(GroupLink link, List<GroupedVolume> volumes) {
    RbdPool pool = group().pool();
    long poolId = pool.io().poolId();
    if (link.poolId() != poolId) {
      return Optional.empty();
    }
    Set<String> wanted =
        volumes.stream().map(GroupedVolume::imageId).collect(Collectors.toUnmodifiableSet());
    List<GroupMember> there = GroupHeader.images(pool.io(), link.groupId());
    boolean same =
        there.stream().allMatch(member -> member.poolId() == poolId)
            && wanted.equals(there.stream().map(GroupMember::imageId).collect(Collectors.toSet()));
    return same
        ? GroupHeader.name(pool.io(), link.groupId())
            .filter(name -> !members().isForSnapshot(pool.io(), name))
            .map(pool::group)
        : Optional.empty();
  }

  private String name() {
    return group().entry().name();
  }

  private void makeImage(RbdGroup rbdGroup, Member member, InitialSnapshot own, SourceKeys keys) {
    RbdSession session = group().session();
    RbdPool pool = group().pool();
    String name = member.entry().name();
    RbdPool parent = member.source().volume().pool();
    long part = partOf(rbdGroup, member.source());
    String imageId;
    try {
      imageId = SnapshotClone.make(parent, member.source().imageId(), part, pool, name);
    } catch (CephException.AlreadyExists e) {
      // Half made, and never given to anybody.
      CloneSteps.discard(pool, name).ifPresent(id -> session.purge(pool.io(), id));
      imageId = SnapshotClone.make(parent, member.source().imageId(), part, pool, name);
    }
    session.settings().labels().write(pool, imageId, labels);
    if (member.entry().isEncrypted()) {
      giveKey(member, imageId, keys);
    }
    CloneSteps.takeSnapshot(pool, name, imageId, name, own);
    session.journal(JournalKind.SNAPSHOT, pool.io()).setImageId(member.entry().uuid(), imageId);
  }

  /**
   * The snapshot has no image in the journal yet, so no caller has got the group snapshot: with
   * another passphrase than that of an attempt before, all of it is taken again.
   */
  private void giveKey(Member member, String imageId, SourceKeys keys) {
    VolumeId id = group().idOf(member.entry().uuid());
    try {
      keys.give(
          member.source(), group().session().key(id, group().pool(), imageId, member.entry()));
    } catch (VolumeException e) {
      throw e.reason() == Reason.ABORTED ? removal.removeUnreturned() : e;
    }
  }

  /** The id of an image's part of the group's snapshot. */
  private long partOf(RbdGroup rbdGroup, GroupedVolume volume) {
    GroupSnapshotRef wanted =
        new GroupSnapshotRef(rbdGroup.pool().io().poolId(), rbdGroup.name(), name());
    try (RbdImage image = volume.volume().pool().openByIdReadOnly(volume.imageId())) {
      return GroupParts.of(image).stream()
          .filter(part -> part.group().equals(wanted))
          .map(GroupParts.Part::snapshotId)
          .findFirst()
          .orElseThrow(
              () ->
                  new VolumeException(
                      Reason.ABORTED,
                      "the snapshot of volume " + volume.id() + " was removed meanwhile"));
    }
  }
}
