package io.cephcsi.bindings.internal;

import com.sun.jna.Callback;

/** {@code rados_callback_t} and {@code rbd_callback_t}: an asynchronous operation is complete. */
public interface CompletionCallback extends Callback {
  /** Listeners by the id that the callback gets as its argument. */
  Callbacks<Runnable> LISTENERS = new Callbacks<>();

  /** The callback for all completions. */
  CompletionCallback INSTANCE =
      Callbacks.prepared(
          (completion, id) -> {
            try {
              Runnable listener = LISTENERS.get(id);
              if (listener != null) {
                listener.run();
              }
            } catch (Throwable t) {
              Callbacks.failed(t);
            }
          });

  void invoke(long completion, long id);
}
