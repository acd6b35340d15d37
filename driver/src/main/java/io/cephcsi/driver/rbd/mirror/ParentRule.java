package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.MirrorInfo;
import io.cephcsi.bindings.rbd.ParentImage;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;

/**
 * A clone can only be mirrored if its parent is, too: the other site clones its copy from the copy
 * of the parent. Blocks on the cluster.
 */
final class ParentRule {
  private ParentRule() {}

  /**
   * Requires that the parent of a volume's image, if it has one, does not keep it from being
   * mirrored. Two round trips if there is one that is not to be flattened.
   *
   * @param image open for reading
   * @param flatten whether the image is flattened then
   * @throws VolumeException ABORTED while the image is being flattened; FAILED_PRECONDITION if the
   *     parent is not mirrored or its snapshot is in the trash
   */
  static void require(OpenVolume volume, RbdImage image, boolean flatten) {
    ParentImage parent = image.parent().orElse(null);
    if (parent == null) {
      return;
    }
    if (flatten) {
      volume.session().bounds().flatten(volume.pool().io(), volume.imageName(), image.id());
      throw new VolumeException(
          Reason.ABORTED,
          "volume "
              + volume.id()
              + " is a clone and is being flattened, which copies up to "
              + image.overlap()
              + " bytes of its parent; repeat the call");
    }
    if (parent.inTrash()) {
      throw refused(volume, parent, "is in the trash");
    }
    if (parent.snapshotNamespace() != SnapshotNamespace.USER) {
      throw refused(volume, parent, "is cloned from a snapshot that is deleted, and is not copied");
    }
    if (!isMirrored(volume, parent)) {
      throw refused(volume, parent, "is not mirrored");
    }
  }

  private static boolean isMirrored(OpenVolume volume, ParentImage parent) {
    IoContext own = volume.pool().io();
    if (parent.poolId() == own.poolId() && parent.namespace().equals(own.namespace())) {
      return isMirrored(volume.pool(), parent);
    }
    try (IoContext io = own.cluster().openPool(parent.poolId(), parent.namespace())) {
      return isMirrored(new RbdPool(io), parent);
    }
  }

  private static boolean isMirrored(RbdPool pool, ParentImage parent) {
    AncestryCheck.requireOpenable(pool.io(), parent.imageId());
    try (RbdImage image = pool.openByIdReadOnly(parent.imageId())) {
      return image.mirroring().filter(i -> i.state() == MirrorInfo.State.ENABLED).isPresent();
    } catch (CephException.NotFound e) {
      return false;
    }
  }

  private static VolumeException refused(OpenVolume volume, ParentImage parent, String why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "volume "
            + volume.id()
            + " is a clone, and its parent "
            + parent.poolName()
            + "/"
            + parent.imageName()
            + " "
            + why
            + ": mirror that first, or let the class flatten clones (flattenMode: force)");
  }
}
