package io.cephcsi.bindings.internal;

import com.sun.jna.Callback;
import com.sun.jna.CallbackThreadInitializer;
import com.sun.jna.Native;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listeners that C code calls. C gets the one static callback of the kind and the id of the
 * listener as its argument, never an object; the listener is rooted here while it is registered.
 *
 * <p>Threads of librados stay attached to the JVM after their first callback (attaching anew costs
 * 15 µs a call). No throwable crosses into C.
 *
 * @param <L> the listener's type
 */
public final class Callbacks<L> {
  private static final Logger LOG = LoggerFactory.getLogger(Callbacks.class);
  private static final CallbackThreadInitializer ATTACH_ONCE =
      new CallbackThreadInitializer(true, false, "ceph-callback");

  private final ConcurrentHashMap<Long, L> listeners = new ConcurrentHashMap<>();
  private final AtomicLong ids = new AtomicLong();

  /** Makes a static callback ready for calls from threads of the native libraries. */
  static <C extends Callback> C prepared(C callback) {
    Native.setCallbackThreadInitializer(callback, ATTACH_ONCE);
    return callback;
  }

  /** Says that a listener threw; its throwable ends here. */
  static void failed(Throwable thrown) {
    LOG.error("a listener that a native library called threw an exception", thrown);
  }

  /**
   * Roots a listener until {@link #remove}.
   *
   * @return its id, never 0
   */
  public long add(L listener) {
    long id = ids.incrementAndGet();
    listeners.put(id, listener);
    return id;
  }

  /** The listener of an id; null after it was removed. */
  public @Nullable L get(long id) {
    return listeners.get(id);
  }

  /** Forgets a listener. */
  public void remove(long id) {
    listeners.remove(id);
  }
}
