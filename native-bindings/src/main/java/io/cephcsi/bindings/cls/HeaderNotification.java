package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;

/**
 * The notification that librbd sends to the clients that watch an image's header object, after it
 * has changed the header. Methods are safe for several threads and block until the clients answer.
 */
public final class HeaderNotification {
  private static final byte[] UPDATE = {}; // in the form of old clients, that all understand
  private static final long ANSWER_MILLIS = 1000;

  private HeaderNotification() {}

  /**
   * Whether somebody has an image open for writing; one round trip if nobody has. It is notified as
   * of a change of the header: every client that watches it reads it again and answers. It counts
   * as watched when no answer comes in time, be it that of a client or of the OSD. An OSD that
   * freezes meanwhile is waited for, see {@link IoContext#notifyWatchers}.
   *
   * @param id the image's id
   * @throws CephException.NotFound if there is no image of this id
   */
  public static boolean isWatched(RbdPool pool, String id) {
    return tellWatchers(pool, id);
  }

  /**
   * Notifies every client that has an image open that its header has changed, such as by {@link
   * HeaderMetadata}, so that they read it again ({@code rados_notify2}); one round trip if nobody
   * has, else until they answer or 1 s has passed.
   *
   * @param id the image's id
   * @return whether there are such clients; as {@link #isWatched}
   * @throws CephException.NotFound if there is no image of this id
   */
  public static boolean tellWatchers(RbdPool pool, String id) {
    try {
      return pool.io().notifyWatchers(ImageHeader.object(id), UPDATE, ANSWER_MILLIS) > 0;
    } catch (CephException.TimedOut e) {
      return true;
    }
  }
}
