package io.cephcsi.driver.rbd.image;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;

/**
 * Tells an image that is gone from one that librbd does not open, as its parent is gone: to both,
 * librbd answers ENOENT.
 */
public final class PresentImage {
  private PresentImage() {}

  /**
   * Opens an image, also one in the trash. If a flattening was cut off before its last step, that
   * is made up for. A round trip for each ancestor more than librbd needs.
   *
   * @param imageId of an image that was completed
   * @param what it is, for the log and the message
   * @return empty if it is gone
   * @throws VolumeException ABORTED if it is there, but cannot be opened
   * @throws CephException EBADMSG as of {@link AncestryCheck#requireOpenable(
   *     io.cephcsi.bindings.rados.IoContext, String)}
   */
  public static Optional<RbdImage> open(RbdPool pool, String imageId, String what) {
    AncestryCheck.requireOpenable(pool.io(), imageId);
    try {
      return Optional.of(pool.openById(imageId));
    } catch (CephException.NotFound e) {
      if (ImageHeader.read(pool.io(), imageId).isEmpty()) {
        return Optional.empty();
      }
      EndedFlatten.of(pool.io(), imageId, what);
      return openAgain(pool, imageId, what);
    }
  }

  private static Optional<RbdImage> openAgain(RbdPool pool, String imageId, String what) {
    try {
      return Optional.of(pool.openById(imageId));
    } catch (CephException.NotFound e) {
      if (ImageHeader.read(pool.io(), imageId).isEmpty()) {
        return Optional.empty();
      }
      throw new VolumeException(
          Reason.ABORTED,
          "the image of "
              + what
              + " ("
              + pool.describe(imageId)
              + ") is there, but cannot be opened: one that it is a clone of is gone",
          e);
    }
  }
}
