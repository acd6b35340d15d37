package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.DiffCallback;
import java.util.function.LongToIntFunction;
import org.jspecify.annotations.Nullable;

/** Passes the extents of one {@code rbd_diff_iterate2} to a {@link DiffVisitor}. */
final class DiffIteration implements DiffCallback.Listener {
  private static final int STOP = -Errno.ECANCELED.number();

  private final DiffVisitor visitor;
  private volatile boolean stopped;
  private volatile @Nullable Throwable thrown;

  private DiffIteration(DiffVisitor visitor) {
    this.visitor = visitor;
  }

  /** Runs a walk; the call gets the argument for {@link DiffCallback#INSTANCE}. */
  static boolean run(DiffVisitor visitor, String object, LongToIntFunction call) {
    DiffIteration walk = new DiffIteration(visitor);
    long id = DiffCallback.LISTENERS.add(walk);
    try {
      int code = call.applyAsInt(id);
      Rethrown.ifAny(walk.thrown);
      if (walk.stopped) {
        return false;
      }
      ReturnCode.check(code, "rbd_diff_iterate2", object);
      return true;
    } finally {
      DiffCallback.LISTENERS.remove(id);
    }
  }

  @Override
  public int extent(long offset, long length, boolean exists) {
    if (stopped) {
      return STOP;
    }
    try {
      stopped = !visitor.extent(offset, length, exists);
    } catch (Throwable t) {
      thrown = t;
      stopped = true;
    }
    return stopped ? STOP : 0;
  }
}
