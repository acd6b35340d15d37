package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.GroupMember;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageSummary;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.RbdGroup;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.rbd.volume.ImageGroups;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the volumes of a group, checks that they can be members, and adds and removes their images.
 *
 * @param session of the call
 */
record GroupMembers(RbdSession session) {
  private static final Logger LOG = LoggerFactory.getLogger(GroupMembers.class);
  private static final int PASSES = 10;

  /** Those of some volumes that there are; two round trips for each, many at once. */
  List<GroupedVolume> existing(Collection<VolumeId> ids) {
    return look(ids).stream().flatMap(Optional::stream).toList();
  }

  private List<Optional<GroupedVolume>> look(Collection<VolumeId> ids) {
    return session.reads().map(List.copyOf(ids), id -> session.find(id).flatMap(GroupedVolume::of));
  }

  /** The members that there are, as answers have them. */
  List<CreatedVolume> describe(Collection<VolumeId> ids) {
    return existing(ids).stream().map(GroupedVolume::toVolume).toList();
  }

  /**
   * All of some volumes, whose ids say that they are in a pool.
   *
   * @param io that pool
   * @throws VolumeException NOT_FOUND naming one that does not exist; INVALID_ARGUMENT naming one
   *     that is in another pool, by the cluster mapping
   */
  List<GroupedVolume> requireAll(Collection<VolumeId> ids, IoContext io) {
    List<VolumeId> all = List.copyOf(ids);
    List<Optional<GroupedVolume>> found = look(all);
    List<GroupedVolume> present = new ArrayList<>();
    for (int i = 0; i < all.size(); i++) {
      VolumeId id = all.get(i);
      present.add(
          found
              .get(i)
              .orElseThrow(() -> VolumeException.notFound("volume " + id + " does not exist")));
      if (present.get(i).volume().pool().io().poolId() != io.poolId()) {
        throw ofOtherSite(id);
      }
    }
    return present;
  }

  /** A volume that only the cluster mapping leads to. */
  static VolumeException ofOtherSite(VolumeId id) {
    return VolumeException.invalid(
        "volume "
            + id
            + " has its id of another site: groups and group snapshots take volumes by their ids of"
            + " this site only");
  }

  /**
   * Refuses volumes that cannot be put into a group.
   *
   * @param candidates those that are not members yet
   * @param groupId the id of the RBD group; empty for one that does not exist yet
   * @throws VolumeException FAILED_PRECONDITION naming the volume and why
   */
  void requireGroupable(List<GroupedVolume> candidates, Optional<String> groupId) {
    session
        .reads()
        .map(
            candidates,
            candidate -> {
              requireNotDeleting(candidate.volume());
              if (groupId.filter(candidate::isIn).isEmpty()) {
                candidate
                    .header()
                    .group()
                    .ifPresent(
                        link ->
                            GroupMembership.of(candidate.volume(), link)
                                .requireFree(candidate.id()));
              }
              requireWritable(candidate);
              return true;
            });
  }

  /** One of some volumes whose deletion has begun; a round trip for each, many at once. */
  Optional<VolumeId> beingDeleted(List<VolumeId> ids) {
    return session
        .reads()
        .map(ids, id -> session.find(id).filter(v -> AttachmentJournal.isBeingDeleted(v.entry())))
        .stream()
        .flatMap(Optional::stream)
        .map(OpenVolume::id)
        .findFirst();
  }

  private static void requireNotDeleting(OpenVolume volume) {
    if (AttachmentJournal.isBeingDeleted(volume.entry())) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION, "volume " + volume.id() + " is being deleted");
    }
  }

  private static void requireWritable(GroupedVolume candidate) {
    Set<ImageFeature> features =
        ImageSummary.read(candidate.volume().pool().io(), candidate.imageId())
            .map(ImageSummary::features)
            .orElseThrow(() -> gone(candidate.id()));
    for (ImageFeature hindrance : List.of(ImageFeature.NON_PRIMARY, ImageFeature.MIGRATING)) {
      if (features.contains(hindrance)) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            "volume "
                + candidate.id()
                + " cannot be in a group: its image is "
                + hindrance.cephName());
      }
    }
  }

  private static VolumeException gone(VolumeId id) {
    return VolumeException.notFound("volume " + id + ": its image is gone");
  }

  /** Whether an RBD group was made to take a snapshot in it; one round trip. */
  boolean isForSnapshot(IoContext io, String group) {
    return new GroupSnapshotRecovery(session)
        .find(io, group)
        .filter(found -> found.entry().isOfSnapshots())
        .isPresent();
  }

  /**
   * Puts images into the RBD group, in order, and then looks that no other driver has begun to
   * delete one of the volumes: who deletes marks the volume first and looks for groups afterwards.
   *
   * @param attached gets those that were put in, also when this fails
   * @throws VolumeException FAILED_PRECONDITION if another driver was faster; NOT_FOUND
   */
  void attach(
      RbdGroup group,
      String groupId,
      List<GroupedVolume> candidates,
      List<GroupedVolume> attached) {
    Set<String> halfAttached = halfAttached(group, groupId);
    ImageGroups groups = new StaleGroupMembers();
    for (GroupedVolume candidate : candidates) {
      if (!candidate.isIn(groupId)) {
        candidate
            .header()
            .group()
            .ifPresent(
                link -> groups.removeFromGroup(candidate.volume(), candidate.imageId(), link));
        attach(group, groupId, candidate);
        attached.add(candidate);
      } else if (halfAttached.contains(candidate.imageId())) {
        addImage(group, candidate);
      }
    }
    session
        .reads()
        .map(
            candidates,
            candidate -> {
              requireNotDeleting(
                  session.find(candidate.id()).orElseThrow(() -> gone(candidate.id())));
              return true;
            });
  }

  /** Images that an interrupted call was adding; librbd completes that. */
  private static Set<String> halfAttached(RbdGroup group, String groupId) {
    return GroupHeader.images(group.pool().io(), groupId).stream()
        .filter(image -> !image.attached() && image.poolId() == group.pool().io().poolId())
        .map(GroupMember::imageId)
        .collect(Collectors.toUnmodifiableSet());
  }

  private static void addImage(RbdGroup group, GroupedVolume candidate) {
    group.addImage(candidate.volume().pool(), candidate.volume().imageName());
  }

  private static void attach(RbdGroup group, String groupId, GroupedVolume candidate) {
    try {
      addImage(group, candidate);
    } catch (CephException.AlreadyExists e) {
      boolean here =
          GroupedVolume.of(candidate.volume()).filter(now -> now.isIn(groupId)).isPresent();
      if (!here) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            "volume " + candidate.id() + " has just been put into another group",
            e);
      }
    } catch (CephException.NotFound e) {
      throw new VolumeException(
          Reason.NOT_FOUND, "volume " + candidate.id() + ": " + e.getMessage(), e);
    }
  }

  /**
   * Makes the RBD group have the images of those that are members now, and no others.
   *
   * @throws VolumeException NOT_FOUND or ABORTED if the group was deleted meanwhile; ABORTED if
   *     others change it all the time
   */
  void settle(OpenGroup group) {
    settle(group, existing(group.reread().members()), new ArrayList<>());
  }

  /**
   * As {@link #reconcile}, and again with the members as the journal has them then, until nothing
   * was to be done. Another driver may have changed them since: a driver that adds images or takes
   * some out looks at the journal again afterwards, so that the last one to do so leaves those of
   * the members. Usually one pass, or two when images were added or taken out.
   *
   * @param members as this call knows them
   * @param detached as of {@link #reconcile}
   * @throws VolumeException ABORTED if others change the group all the time
   */
  void settle(OpenGroup group, List<GroupedVolume> members, List<GroupMember> detached) {
    String groupId = group.requireGroupId();
    List<GroupedVolume> staying = members;
    for (int pass = 1; reconcile(group.group(), groupId, staying, detached); pass++) {
      if (pass == PASSES) {
        throw GroupChange.changedMeanwhile(group.id().toString());
      }
      staying = current(group, staying);
    }
  }

  /** The members as the journal has them now; one round trip unless they were changed. */
  private List<GroupedVolume> current(OpenGroup group, List<GroupedVolume> known) {
    Set<VolumeId> now = Set.copyOf(group.reread().members());
    return now.equals(GroupedVolume.ids(known)) ? known : existing(now);
  }

  /**
   * Takes all images out but those of some volumes, also images that are gone, and puts those in
   * that another driver took out. The group's list may name any image of any pool: one that is in
   * another group by its own header stays.
   *
   * @param detached gets those that were in the group and were taken out, also when this fails
   * @return whether any was put in or taken out
   */
  boolean reconcile(
      RbdGroup group, String groupId, List<GroupedVolume> staying, List<GroupMember> detached) {
    List<GroupMember> images = GroupHeader.images(group.pool().io(), groupId);
    long own = group.pool().io().poolId(); // and that of the volumes
    Set<String> present =
        images.stream()
            .filter(image -> image.poolId() == own)
            .map(GroupMember::imageId)
            .collect(Collectors.toUnmodifiableSet());
    boolean changed = false;
    for (GroupedVolume member : staying) {
      if (!present.contains(member.imageId())) {
        attach(group, groupId, member);
        changed = true;
      }
    }
    Set<String> stay =
        staying.stream().map(GroupedVolume::imageId).collect(Collectors.toUnmodifiableSet());
    GroupLink here = new GroupLink(own, groupId);
    for (GroupMember image : images) {
      if (image.poolId() == own && stay.contains(image.imageId())) {
        continue;
      }
      Optional<RbdPool> pool = poolOf(group, image);
      if (pool.isEmpty()) {
        LOG.warn(
            "{} of RBD group {} is not removed from it: its pool does not exist",
            image,
            group.name());
        continue;
      }
      Optional<GroupLink> in =
          ImageHeader.read(pool.get().io(), image.imageId()).flatMap(ImageHeader::group);
      if (in.isPresent() && !in.get().equals(here)) {
        LOG.warn(
            "{} of RBD group {} is not removed from it: the header of the image names"
                + " another group",
            image,
            group.name());
        continue;
      }
      detach(group, pool.get(), image.imageId());
      if (in.isPresent()) {
        detached.add(image);
      }
      changed = true;
    }
    return changed;
  }

  /** Empty if there is no such pool. */
  private Optional<RbdPool> poolOf(RbdGroup group, GroupMember image) {
    try {
      return Optional.of(
          image.poolId() == group.pool().io().poolId()
              ? group.pool()
              : new RbdPool(session.lease().rbdPool(image.poolId())));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /** Puts images back; one that is gone by now is not missed. */
  void undoDetach(RbdGroup group, List<GroupMember> detached) {
    for (GroupMember image : detached) {
      poolOf(group, image).ifPresent(pool -> undoDetach(group, pool, image.imageId()));
    }
  }

  private static void undoDetach(RbdGroup group, RbdPool pool, String imageId) {
    ImageHeader.name(pool.io(), imageId).ifPresent(name -> group.addImage(pool, name));
  }

  /** Takes one image out, which may be gone. */
  static void detach(RbdGroup group, RbdPool imagePool, String imageId) {
    try {
      group.removeImageById(imagePool, imageId);
    } catch (CephException.NotFound e) {
      LOG.debug("image {} is out of group {} already", imageId, group.name());
    }
  }
}
