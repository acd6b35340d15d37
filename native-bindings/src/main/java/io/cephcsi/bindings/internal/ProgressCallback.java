package io.cephcsi.bindings.internal;

import com.sun.jna.Callback;

/** {@code librbd_progress_fn_t}: how far a long operation is; a negative result cancels it. */
public interface ProgressCallback extends Callback {
  /** Listeners by the id that the callback gets as its argument. */
  Callbacks<Listener> LISTENERS = new Callbacks<>();

  /** The callback for all operations. */
  ProgressCallback INSTANCE =
      Callbacks.prepared(
          (offset, total, id) -> {
            try {
              Listener listener = LISTENERS.get(id);
              return listener == null ? 0 : listener.progress(offset, total);
            } catch (Throwable t) {
              Callbacks.failed(t);
              return -125; // ECANCELED: what cannot be watched does not go on
            }
          });

  int invoke(long offset, long total, long id);

  /** Told of progress on any thread. */
  interface Listener {
    /** Returns 0 to go on, or a negative errno to stop. */
    int progress(long done, long total);
  }
}
