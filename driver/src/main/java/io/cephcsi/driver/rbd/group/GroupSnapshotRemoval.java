package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.GroupSnapshot;
import io.cephcsi.bindings.rbd.GroupSnapshotRef;
import io.cephcsi.bindings.rbd.RbdGroup;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.session.OpenSnapshot;
import io.cephcsi.driver.rbd.snapshot.SnapshotDeletion;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes a group snapshot, also an incomplete one. The caller has the {@link GroupSnapshotLock}.
 *
 * @param group the entry of the group's snapshot
 * @param work the right to work on it
 */
record GroupSnapshotRemoval(OpenGroup group, GroupSnapshotLock work) {
  private static final Logger LOG = LoggerFactory.getLogger(GroupSnapshotRemoval.class);
  private static final String KIND = "DeleteSnapshot";

  /** The journal's entries of the snapshots that were reserved; one round trip for each. */
  List<JournalEntry> parts() {
    List<JournalEntry> parts = new ArrayList<>();
    for (VolumeId id : group.entry().snapshots()) {
      journal().byUuid(id.uuid()).ifPresent(parts::add);
    }
    return parts;
  }

  /** The journal of snapshots. */
  private Journal journal() {
    return group.session().journal(JournalKind.SNAPSHOT, group.pool().io());
  }

  /**
   * Whether a caller may have got the snapshots: the ids of images are recorded before the call is
   * answered, and nobody removes them.
   *
   * @param parts those that are left
   */
  static boolean mayHaveBeenReturned(List<JournalEntry> parts) {
    return !parts.isEmpty() && parts.stream().allMatch(part -> part.imageId().isPresent());
  }

  /**
   * Removes all of it, the entry last. Should the process die over that, what is left tells a
   * snapshot that no caller has got: parts that have no image go behind those that have one.
   *
   * @throws VolumeException ABORTED while one of the snapshots is being read or restored; then
   *     nothing is removed
   */
  void all() {
    List<JournalEntry> parts = new ArrayList<>(parts());
    try (OperationRegistry.Hold hold =
        operations()
            .holdAll(
                parts.stream().map(part -> group.idOf(part.uuid()).toString()).toList(), KIND)) {
      parts.forEach(group.session().keys()::requireKnownKms);
      cleanUp(parts);
      parts.sort(Comparator.comparing(part -> part.imageId().isEmpty()));
      for (JournalEntry part : parts) {
        work.require();
        remove(part);
      }
      work.require();
      group.journal().remove(group.entry().journal());
    }
  }

  private OperationRegistry operations() {
    return group.session().operations();
  }

  private void remove(JournalEntry part) {
    try (OperationRegistry.Hold hold =
        operations().hold(OperationRegistry.snapshotName(part.requestName()), KIND)) {
      OpenSnapshot snapshot =
          new OpenSnapshot(group.session(), group.idOf(part.uuid()), group.pool(), part);
      SnapshotDeletion deletion = new SnapshotDeletion(snapshot);
      Optional<String> image = deletion.moveToTrash();
      deletion.removeKey(image);
      journal().remove(part);
      image.ifPresent(id -> group.session().purge(group.pool().io(), id));
    }
  }

  /**
   * Removes the group's snapshot wherever an attempt took it, and the group that was made for it;
   * the parts stay for clones.
   *
   * @param parts the snapshots
   */
  void cleanUp(Collection<JournalEntry> parts) {
    cleanUpIn(groups(parts.stream().flatMap(part -> part.source().stream()).toList()));
  }

  /** As {@link #cleanUp}, of a snapshot that can be in these groups only, or in its own. */
  void cleanUpIn(Collection<RbdGroup> groups) {
    for (RbdGroup each : groups) {
      work.require();
      removeIfTaken(each);
    }
    if (group.groupId().isPresent()) {
      work.require();
      removeIfTaken(group.group());
      group.remove();
    }
  }

  private void removeIfTaken(RbdGroup from) {
    if (taken(from).isPresent()) {
      removeSnapshot(from);
    }
  }

  /** Removes the group's snapshot of a group; what a command did that came late is done. */
  void removeSnapshot(RbdGroup from) {
    try {
      from.removeSnapshot(group.entry().name());
    } catch (CephException.NotFound e) {
      LOG.debug("the snapshot of group {} is gone already", from.name());
    }
  }

  /** The group's snapshot in a group, complete or not; one round trip. */
  Optional<GroupSnapshot> taken(RbdGroup in) {
    return in.snapshots().stream()
        .filter(snapshot -> snapshot.name().equals(group.entry().name()))
        .findFirst();
  }

  /**
   * The groups that can have the snapshot: those that the images are in, and those whose snapshots
   * they still have a part of.
   *
   * @param images their names
   */
  List<RbdGroup> groups(Collection<String> images) {
    Set<String> names = new TreeSet<>();
    IoContext io = group.pool().io();
    for (String image : images) {
      Optional<String> id = ImageId.find(group.pool(), image);
      Optional<ImageHeader> header = id.flatMap(found -> ImageHeader.read(io, found));
      if (header.isPresent()) {
        header
            .get()
            .group()
            .filter(link -> link.poolId() == io.poolId())
            .flatMap(link -> GroupHeader.name(io, link.groupId()))
            .ifPresent(names::add);
        if (!header.get().snapshotIds().isEmpty()) {
          partsOf(group.pool(), id.get()).stream()
              .filter(ref -> ref.groupPoolId() == io.poolId())
              .filter(ref -> ref.snapshotName().equals(group.entry().name()))
              .forEach(ref -> names.add(ref.groupName()));
        }
      }
    }
    return names.stream().map(group.pool()::group).toList();
  }

  /**
   * Which snapshots of groups an image has parts of; those of groups that are gone are left out.
   */
  static List<GroupSnapshotRef> partsOf(RbdPool pool, String imageId) {
    AncestryCheck.requireOpenable(pool.io(), imageId);
    try (RbdImage image = pool.openByIdReadOnly(imageId)) {
      return GroupParts.of(image).stream().map(GroupParts.Part::group).toList();
    } catch (CephException.NotFound e) {
      LOG.debug("image {} is gone", imageId);
      return List.of();
    }
  }

  /** A part that a caller may have got does not exist any more. */
  VolumeException missingPart() {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "the group snapshot "
            + group.id()
            + " is incomplete, as one of its snapshots is missing: delete it and take a"
            + " new one");
  }

  /**
   * Removes all parts of a group snapshot that no caller has got and that cannot be completed; to
   * be thrown.
   */
  VolumeException removeUnreturned() {
    all();
    return new VolumeException(
        Reason.ABORTED, "the unfinished group snapshot " + group.id() + " was removed; try again");
  }
}
