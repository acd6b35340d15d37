package io.cephcsi.bindings.internal;

import com.sun.jna.Callback;

/** {@code rados_watchcb2_t}: somebody notified the watched object. */
public interface WatchCallback extends Callback {
  /** Listeners by the id that the callback gets as its argument. */
  Callbacks<Listener> LISTENERS = new Callbacks<>();

  /** The callback for all watches. */
  WatchCallback INSTANCE =
      Callbacks.prepared(
          (id, notifyId, handle, notifierId, data, length) -> {
            try {
              Listener listener = LISTENERS.get(id);
              if (listener != null) {
                listener.notified(notifyId, handle, notifierId, NativeMemory.bytes(data, length));
              }
            } catch (Throwable t) {
              Callbacks.failed(t);
            }
          });

  void invoke(long id, long notifyId, long handle, long notifierId, long data, long length);

  /** Told of notifications and of the loss of the watch, on a thread of librados. */
  interface Listener {
    /** A notification came. */
    void notified(long notifyId, long handle, long notifierId, byte[] payload);

    /** The watch is lost; {@code error} is a negative errno. */
    void lost(long handle, int error);
  }
}
