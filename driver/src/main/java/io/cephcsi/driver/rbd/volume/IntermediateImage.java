package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.HeaderAttribute;
import io.cephcsi.bindings.cls.HeaderNotification;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ParentImage;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.image.ImageNames;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The image between a volume and the volume that it was cloned from. Its name is no proof, as
 * another program may have copied an image to that name. Proofs are: an attribute that this driver
 * set on its header, its clone, or its parent. After both images have been flattened, only the
 * attribute is left:
 *
 * <pre>
 *   csi-vol-V@(trash: csi-vol-N-temp) ← csi-vol-N-temp@(trash: csi-vol-N) ← csi-vol-N
 *
 *   rbd_header.ID of csi-vol-N-temp    xattr csi.java.between → csi-vol-N
 * </pre>
 *
 * @param pool the pool of both
 * @param image the name of the volume's image
 */
record IntermediateImage(RbdPool pool, String image) {
  private static final Logger LOG = LoggerFactory.getLogger(IntermediateImage.class);

  /** What is noted of it when it is made: librbd copies this to no other image. */
  static HeaderAttribute note(String image) {
    return new HeaderAttribute("csi.java.between", image);
  }

  /** Its name. */
  String name() {
    return ImageNames.temporary(image);
  }

  /**
   * Finds it; one round trip when nothing has its name. What has the name and is not it is left
   * alone, which the log tells.
   *
   * @param volumeImage the id of the volume's image, which may be in the trash, or gone
   * @return its id
   */
  Optional<String> find(Optional<String> volumeImage) {
    Optional<String> id = ImageId.find(pool, name());
    if (id.isEmpty()
        || note(image).isOn(pool.io(), id.get())
        || isParent(id.get(), volumeImage)
        || isFromSource(id.get())) {
      return id;
    }
    LOG.warn(
        "image {} (id {}) is not removed: it has no mark that it was created as the"
            + " intermediate image of clone {}; if nobody needs it, remove it with \"rbd"
            + " rm\"",
        name(),
        id.get(),
        image);
    return Optional.empty();
  }

  private boolean isParent(String id, Optional<String> volumeImage) {
    ImageLink link = new ImageLink(pool.io().poolId(), pool.io().namespace(), id);
    return volumeImage
        .flatMap(own -> ImageHeader.read(pool.io(), own))
        .flatMap(ImageHeader::parent)
        .filter(link::equals)
        .isPresent();
  }

  /** Where the volume's image was flattened: the snapshot that it was cloned from has its name. */
  private boolean isFromSource(String id) {
    AncestryCheck.requireOpenable(pool.io(), id);
    try (RbdImage open = pool.openByIdReadOnly(id)) {
      return open.parent().filter(parent -> name().equals(snapshotOf(parent))).isPresent()
          && !HeaderNotification.isWatched(pool, id);
    } catch (CephException.NotFound e) {
      return CloneSteps.awaitHeader(pool, id).isEmpty(); // incomplete
    }
  }

  private String snapshotOf(ParentImage parent) {
    if (parent.snapshotNamespace() != SnapshotNamespace.TRASH) {
      return parent.snapshotName();
    }
    try (IoContext io = pool.io().cluster().openPool(parent.poolId(), parent.namespace());
        RbdImage source = new RbdPool(io).openByIdReadOnly(parent.imageId())) {
      return source.snapshots().trashOriginalName(parent.snapshotId());
    }
  }
}
