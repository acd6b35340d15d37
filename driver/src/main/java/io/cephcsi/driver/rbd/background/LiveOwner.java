package io.cephcsi.driver.rbd.background;

import io.cephcsi.bindings.cls.HeaderLock;
import io.cephcsi.bindings.cls.HeaderNotification;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;

/** Tells whether librbd would have to ask another client for an image's exclusive lock. */
final class LiveOwner {
  private LiveOwner() {}

  /**
   * Whether a client that lives has the lock of an image. That of one that died, which does not
   * watch the image any more, librbd breaks. A round trip, and another one if somebody has the
   * lock.
   */
  static boolean has(IoContext io, String imageId) {
    RbdPool pool = new RbdPool(io);
    try {
      return !HeaderLock.holders(pool, imageId).isEmpty()
          && HeaderNotification.isWatched(pool, imageId);
    } catch (CephException.NotFound e) {
      return false; // there is no image
    }
  }
}
