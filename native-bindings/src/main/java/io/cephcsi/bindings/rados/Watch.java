package io.cephcsi.bindings.rados;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.WatchCallback;
import io.cephcsi.bindings.internal.WatchErrorCallback;

/**
 * A watch on an object, held until it is closed ({@code rados_watch3}, {@code rados_unwatch2}).
 *
 * <p>Closing waits for a listener that runs; none is called afterwards. Closing a watch that is
 * lost (the object removed, this client blocklisted) is no error; when the cluster does not answer,
 * it is {@link io.cephcsi.bindings.error.CephException.TimedOut}, the watch counts as closed, and
 * the cluster drops it after the watch's own timeout.
 */
public final class Watch extends NativeHandle {
  private final IoContext io;
  private final String object;
  private final long listenerId;

  private Watch(IoContext io, String object, long listenerId, long handle) {
    super("watch on " + io.describe(object), io, handle, true);
    this.io = io;
    this.object = object;
    this.listenerId = listenerId;
  }

  static Watch open(IoContext io, String object, int timeoutSeconds, Listener listener) {
    long pointer = io.enter();
    long id = WatchCallback.LISTENERS.add(new Acknowledging(io, object, listener));
    boolean watching = false;
    try (NativeArena arena = NativeArena.open()) {
      long handle = arena.cell(0);
      check(
          LibRados.rados_watch3(
              pointer,
              arena.cString(object),
              handle,
              WatchCallback.INSTANCE,
              WatchErrorCallback.INSTANCE,
              timeoutSeconds,
              id),
          "rados_watch3",
          io.describe(object));
      Watch watch = new Watch(io, object, id, arena.getLong(handle));
      watching = true;
      return watch;
    } finally {
      if (!watching) {
        WatchCallback.LISTENERS.remove(id);
      }
      io.exit();
    }
  }

  @Override
  protected void destroy(long handle) {
    long pointer = parentPointer();
    int code = LibRados.rados_unwatch2(pointer, handle);
    LibRados.rados_watch_flush(LibRados.rados_ioctx_get_cluster(pointer));
    WatchCallback.LISTENERS.remove(listenerId);
    switch (Errno.of(code)) {
      case ENOENT, ENOTCONN, ESHUTDOWN -> {} // the cluster has dropped it already
      default -> check(code, "rados_unwatch2", toString());
    }
  }

  /**
   * Whether the watch still stands ({@code rados_watch_check}).
   *
   * @throws io.cephcsi.bindings.error.CephException with ENOTCONN if it is lost: close it and watch
   *     anew
   */
  public void verify() {
    long handle = enter();
    long pointer = io.enter();
    try {
      check(LibRados.rados_watch_check(pointer, handle), "rados_watch_check", io.describe(object));
    } finally {
      io.exit();
      exit();
    }
  }

  /** Told of notifications on a thread of librados. */
  public interface Listener {
    /**
     * Somebody notified the object; the answer is sent after this returns.
     *
     * @param payload what they sent
     */
    void notified(byte[] payload);

    /**
     * The watch is lost: a negative errno, ENOTCONN when the object is gone or we are blocklisted.
     */
    default void lost(int error) {}
  }

  /** Answers each notification, so that the notifier does not wait in vain. */
  private record Acknowledging(IoContext io, String object, Listener listener)
      implements WatchCallback.Listener {
    @Override
    public void notified(long notifyId, long handle, long notifierId, byte[] payload) {
      long pointer = io.enter();
      try (NativeArena arena = NativeArena.open()) {
        try {
          listener.notified(payload);
        } finally {
          LibRados.rados_notify_ack(pointer, arena.cString(object), notifyId, handle, 0, 0);
        }
      } finally {
        io.exit();
      }
    }

    @Override
    public void lost(long handle, int error) {
      listener.lost(error);
    }
  }
}
