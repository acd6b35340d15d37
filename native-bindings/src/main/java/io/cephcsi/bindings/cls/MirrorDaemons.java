package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.MirrorInfo;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.Watcher;
import java.util.List;
import java.util.Set;

/**
 * Tells the daemons that mirror an image to another site (rbd-mirror) from those who use it. They
 * have the image open as any other client, but are the only ones to watch the object {@code
 * rbd_mirroring} of its pool; librbd tells them by that, too. Methods are safe for several threads
 * and block until the daemons answer.
 */
public final class MirrorDaemons {
  private static final String MIRRORING = "rbd_mirroring";

  /** v1,1 (u32 operation): one that no daemon knows, which it answers without doing anything. */
  private static final byte[] NOTHING = {1, 1, 4, 0, 0, 0, -1, -1, -1, -1};

  private static final long ANSWER_MILLIS = 1000;

  private MirrorDaemons() {}

  /**
   * The ids of the clients that mirror images of this image's pool, if this image is a mirror's
   * primary: else nobody but its users has reason to open it. One round trip, and another for a
   * primary. Who watches {@code rbd_mirroring} is found by a notification.
   *
   * @return empty also when a daemon does not answer in time, or this user may not ask: then it is
   *     not known who they are
   */
  public static Set<Long> of(RbdImage image) {
    try {
      return image.mirroring().filter(MirrorInfo::primary).isEmpty()
          ? Set.of()
          : Set.copyOf(image.pool().io().notifiedClients(MIRRORING, NOTHING, ANSWER_MILLIS));
    } catch (CephException.NotFound | CephException.Denied | CephException.TimedOut e) {
      return Set.of();
    }
  }

  /**
   * Who has an image open for writing, this client included, and does not only mirror it. One round
   * trip if nobody has it open, else those of {@link #of} besides.
   */
  public static List<Watcher> users(RbdImage image) {
    List<Watcher> watchers = image.watchers();
    if (watchers.isEmpty()) {
      return watchers;
    }
    Set<Long> daemons = of(image);
    return watchers.stream().filter(watcher -> !daemons.contains(watcher.clientId())).toList();
  }
}
