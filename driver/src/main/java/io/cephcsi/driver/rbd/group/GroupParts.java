package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.GroupSnapshotRef;
import io.cephcsi.bindings.rbd.ImageSnapshot;
import io.cephcsi.bindings.rbd.RbdImage;
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
}
