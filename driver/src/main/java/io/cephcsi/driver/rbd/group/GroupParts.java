package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupPart;
import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.GroupSnapshotRef;
import io.cephcsi.bindings.rbd.ImageSnapshot;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The snapshots of an image that are parts of snapshots of groups. */
final class GroupParts {
  private static final Logger LOG = LoggerFactory.getLogger(GroupParts.class);

  private GroupParts() {}

  /**
   * A part.
   *
   * @param snapshotId of the image
   * @param group the group's snapshot
   */
  record Part(long snapshotId, GroupSnapshotRef group) {}

  /**
   * All of an image; those whose group is gone, and those that are removed meanwhile, are left out.
   * Blocks on the cluster.
   */
  static List<Part> of(RbdImage image) {
    List<Part> parts = new ArrayList<>();
    for (ImageSnapshot snapshot : image.snapshots().list()) {
      if (snapshot.namespace() == SnapshotNamespace.GROUP) {
        groupOf(image, snapshot.id()).ifPresent(group -> parts.add(new Part(snapshot.id(), group)));
      }
    }
    return parts;
  }

  /** The group's snapshot of a part; empty if that or the part is gone. */
  static Optional<GroupSnapshotRef> groupOf(RbdImage image, long snapshotId) {
    try {
      return Optional.of(image.snapshots().groupSnapshot(snapshotId));
    } catch (CephException.NotFound e) {
      LOG.debug("snapshot {} of image {} is gone, or its group is", snapshotId, image.id());
      return Optional.empty();
    }
  }

  /**
   * Removes the parts of snapshots that no group has: nothing leads to them any more, and nobody
   * else can remove them. The cluster makes such a part when it was asked for by a call that timed
   * out, and whose group snapshot was removed before. Blocks on the cluster: two round trips, and
   * one for each part.
   *
   * <p>librbd records a group's snapshot before it takes the first part, and forgets it after it
   * removed the last one. So a part whose record is missing, read after the part, is not needed.
   * Those of groups of another pool stay.
   *
   * @param pool of the image and the group, in the namespace of both
   */
  static void removeForgotten(RbdPool pool, String imageId) {
    List<Long> forgotten = forgotten(pool.io(), imageId);
    if (forgotten.isEmpty()) {
      return;
    }
    AncestryCheck.requireOpenable(pool.io(), imageId);
    try (RbdImage image = pool.openById(imageId)) {
      for (long id : forgotten) {
        LOG.info(
            "snapshot {} of image {} is a part of a group snapshot that does not exist: removing it",
            id,
            imageId);
        remove(image, id);
      }
    } catch (CephException.NotFound e) {
      LOG.debug("image {} is gone", imageId);
    }
  }

  private static void remove(RbdImage image, long id) {
    try {
      image.snapshots().removeById(id);
    } catch (CephException.NotFound e) {
      LOG.debug("snapshot {} of image {} is gone already", id, image.id());
    }
  }

  private static List<Long> forgotten(IoContext io, String imageId) {
    try {
      return ImageHeader.read(io, imageId)
          .map(header -> ImageHeader.snapshots(io, imageId, header.snapshotIds()))
          .orElse(List.of())
          .stream()
          .filter(snapshot -> snapshot.part().filter(part -> isForgotten(io, part)).isPresent())
          .map(HeaderSnapshot::id)
          .toList();
    } catch (CephException.NotFound e) {
      LOG.debug("image {} is gone, or a snapshot of it", imageId);
      return List.of();
    }
  }

  private static boolean isForgotten(IoContext io, GroupPart part) {
    return part.poolId() == io.poolId()
        && !GroupHeader.hasSnapshot(io, part.groupId(), part.snapshotId());
  }
}
