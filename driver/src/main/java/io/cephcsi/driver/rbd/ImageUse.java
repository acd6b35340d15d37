package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;

/** Tells whether somebody uses an image. */
final class ImageUse {
  private ImageUse() {}

  /**
   * Requires that nobody has an image open.
   *
   * @param image opened read-only, so that this client is not among those who have it open
   * @param whose for the message, such as {@code volume 0001-...}
   * @throws VolumeException FAILED_PRECONDITION naming who has
   */
  static void requireUnused(RbdImage image, String whose) {
    image.watchers().stream()
        .findAny()
        .ifPresent(
            watcher -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION, whose + " is in use by " + watcher.address());
            });
  }
}
