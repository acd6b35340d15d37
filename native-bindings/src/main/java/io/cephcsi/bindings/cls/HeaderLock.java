package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.rados.ObjectLock;
import io.cephcsi.bindings.rbd.RbdPool;
import java.util.List;
import java.util.function.Predicate;

/** The exclusive lock of an image as its header has it: the lock {@code rbd_lock}. */
public final class HeaderLock {
  private static final String RBD_LOCK = "rbd_lock";

  private HeaderLock() {}

  /**
   * Who holds the lock; one round trip. Works for an image that is open for reading, of which
   * librbd knows no lock, and for one without the feature exclusive-lock, too.
   *
   * @param imageId the image's id
   * @return addresses in the form that blocklisting takes
   * @throws io.cephcsi.bindings.error.CephException.NotFound if there is no image of this id
   */
  public static List<String> holders(RbdPool pool, String imageId) {
    return ObjectLock.holders(pool.io(), ImageHeader.object(imageId), RBD_LOCK);
  }

  /**
   * Takes the lock away from holders that are dead; one round trip, and one more for each.
   *
   * @param isDead as of {@link ObjectLock#breakDead}
   * @return whether one was taken away
   */
  public static boolean breakDead(RbdPool pool, String imageId, Predicate<String> isDead) {
    return ObjectLock.breakDead(pool.io(), ImageHeader.object(imageId), RBD_LOCK, isDead);
  }
}
