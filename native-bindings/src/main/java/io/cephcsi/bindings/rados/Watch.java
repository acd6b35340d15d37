package io.cephcsi.bindings.rados;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.WatchCallback;
import io.cephcsi.bindings.internal.WatchErrorCallback;
import io.cephcsi.bindings.profile.RadosOperation;

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
    long id = WatchCallback.LISTENERS.add(new Acknowledging(io, object, listener));
    try {
      return io.use((pointer, arena) -> open(pointer, arena, io, object, timeoutSeconds, id));
    } catch (RuntimeException | Error e) {
      WatchCallback.LISTENERS.remove(id);
      throw e;
    }
  }

  private static Watch open(
      long pointer, NativeArena arena, IoContext io, String object, int timeoutSeconds, long id) {
    long handle = arena.cell(0);
    check(
        io.recorded(
            RadosOperation.begun(),
            LibRados.rados_watch3(
                pointer,
                arena.cString(object),
                handle,
                WatchCallback.INSTANCE,
                WatchErrorCallback.INSTANCE,
                timeoutSeconds,
                id),
            "rados_watch3",
            object,
            0),
        "rados_watch3",
        io.describe(object));
    return new Watch(io, object, id, arena.getLong(handle));
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
    use(
        (handle, none) ->
            io.call(
                "rados_watch_check",
                io.describe(object),
                (pointer, arena) -> LibRados.rados_watch_check(pointer, handle)));
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

  /** Acknowledges each notification, so that the notifier does not wait for its timeout. */
  private record Acknowledging(IoContext io, String object, Listener listener)
      implements WatchCallback.Listener {
    @Override
    public void notified(long notifyId, long handle, long notifierId, byte[] payload) {
      io.use(
          (pointer, arena) -> {
            try {
              listener.notified(payload);
              return handle;
            } finally {
              LibRados.rados_notify_ack(pointer, arena.cString(object), notifyId, handle, 0, 0);
            }
          });
    }

    @Override
    public void lost(long handle, int error) {
      listener.lost(error);
    }
  }
}
