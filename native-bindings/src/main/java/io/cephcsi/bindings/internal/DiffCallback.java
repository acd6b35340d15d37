package io.cephcsi.bindings.internal;

import com.sun.jna.Callback;

/** The callback of {@code rbd_diff_iterate2}: one extent that differs. */
public interface DiffCallback extends Callback {
  /** Listeners by the id that the callback gets as its argument. */
  Callbacks<Listener> LISTENERS = new Callbacks<>();

  /** The callback for all walks. */
  DiffCallback INSTANCE =
      Callbacks.prepared(
          (offset, length, exists, id) -> {
            try {
              Listener listener = LISTENERS.get(id);
              return listener == null ? -125 : listener.extent(offset, length, exists != 0);
            } catch (Throwable t) {
              Callbacks.failed(t);
              return -125; // ECANCELED
            }
          });

  int invoke(long offset, long length, int exists, long id);

  /** Told of each extent, on the thread that walks. */
  interface Listener {
    /** Returns 0 to go on, or a negative errno to stop. */
    int extent(long offset, long length, boolean exists);
  }
}
