package io.cephcsi.driver.rbd.image;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.HeaderNotification;
import io.cephcsi.bindings.cls.MirrorDaemons;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.Watcher;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Tells whether an image has watchers. */
public final class ImageUse {
  // While the manager removes a clone it has the parent open, for a moment.
  private static final long PATIENCE_MILLIS = 3000;
  private static final long POLL_MILLIS = 100;

  private ImageUse() {}

  /**
   * Requires that no client has an image open, but to mirror it. A client that closes it within
   * three seconds does not count: otherwise the deletion of a snapshot and then of its source would
   * fail because of the manager's work.
   *
   * <p>One round trip if there is no watcher.
   *
   * @param imageId the image's id: it may have lost its name
   * @param whose for the message, such as {@code volume 0001-...}
   * @throws VolumeException FAILED_PRECONDITION naming the client
   * @throws CephException.NotFound if the image has no header
   */
  public static void requireUnused(RbdPool pool, String imageId, String whose) {
    if (!HeaderNotification.isWatched(pool, imageId)) {
      return;
    }
    AncestryCheck.requireOpenable(pool.io(), imageId);
    try (RbdImage image = pool.openByIdReadOnly(imageId)) {
      requireUnused(image, whose);
    } catch (CephException.NotFound e) {
      // librbd opens none that even the directory knows no name of
      if (HeaderNotification.isWatched(pool, imageId)) {
        throw new VolumeException(Reason.FAILED_PRECONDITION, whose + " is in use", e);
      }
    }
  }

  private static void requireUnused(RbdImage image, String whose) {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MILLIS);
    // Opened read-only, this client is not among those who have it open.
    List<Watcher> users = MirrorDaemons.users(image);
    while (!users.isEmpty() && System.nanoTime() < end) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(POLL_MILLIS));
      users = MirrorDaemons.users(image);
    }
    if (!users.isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION, whose + " is in use by " + users.get(0).address());
    }
  }
}
