package io.cephcsi.bindings.internal;

import com.sun.jna.Callback;

/** {@code rados_watcherrcb_t}: a watch was lost. */
public interface WatchErrorCallback extends Callback {
  /** The callback for all watches; its listeners are those of {@link WatchCallback}. */
  WatchErrorCallback INSTANCE =
      Callbacks.prepared(
          (id, handle, error) -> {
            try {
              WatchCallback.Listener listener = WatchCallback.LISTENERS.get(id);
              if (listener != null) {
                listener.lost(handle, error);
              }
            } catch (Throwable t) {
              Callbacks.failed(t);
            }
          });

  void invoke(long id, long handle, int error);
}
