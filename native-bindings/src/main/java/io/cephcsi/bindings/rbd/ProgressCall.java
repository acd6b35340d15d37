package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.ProgressCallback;
import java.util.function.LongToIntFunction;
import org.jspecify.annotations.Nullable;

/** Hands the progress of one native call to its {@link Progress}. */
final class ProgressCall implements ProgressCallback.Listener {
  private static final int CANCEL = -Errno.ECANCELED.number();

  /** An id that no listener has. librbd calls the callback unchecked: it must never be null. */
  private static final long NOBODY = 0;

  private final Progress progress;
  private volatile boolean canceled;
  private volatile @Nullable Throwable thrown;

  private ProgressCall(Progress progress) {
    this.progress = progress;
  }

  /** Runs a call while the handle is held open, and checks its return code. */
  static void run(
      NativeHandle handle, String operation, String object, Progress progress, Tracked call) {
    handle.use(
        (pointer, arena) -> run(progress, operation, object, id -> call.on(pointer, arena, id)));
  }

  private static int run(
      Progress progress, String operation, String object, LongToIntFunction call) {
    if (progress == Progress.NONE) {
      return ReturnCode.check(call.applyAsInt(NOBODY), operation, object);
    }
    ProgressCall listener = new ProgressCall(progress);
    long id = ProgressCallback.LISTENERS.add(listener);
    try {
      int code = call.applyAsInt(id);
      Rethrown.ifAny(listener.thrown);
      return ReturnCode.check(code, operation, object);
    } finally {
      ProgressCallback.LISTENERS.remove(id);
    }
  }

  @Override
  public int progress(long done, long total) {
    if (canceled) {
      return CANCEL;
    }
    try {
      canceled = !progress.progress(done, total);
    } catch (Throwable t) {
      thrown = t;
      canceled = true;
    }
    return canceled ? CANCEL : 0;
  }

  /** A call that takes the argument for {@link ProgressCallback#INSTANCE}, the listener's id. */
  interface Tracked {
    int on(long pointer, NativeArena arena, long progressId);
  }
}
