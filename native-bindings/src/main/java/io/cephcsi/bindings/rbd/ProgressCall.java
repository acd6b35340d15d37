package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
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

  /** Runs a native call; it gets the argument for {@link ProgressCallback#INSTANCE}. */
  static void run(Progress progress, String operation, String object, LongToIntFunction call) {
    if (progress == Progress.NONE) {
      ReturnCode.check(call.applyAsInt(NOBODY), operation, object);
      return;
    }
    ProgressCall listener = new ProgressCall(progress);
    long id = ProgressCallback.LISTENERS.add(listener);
    try {
      int code = call.applyAsInt(id);
      Rethrown.ifAny(listener.thrown);
      ReturnCode.check(code, operation, object);
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
}
