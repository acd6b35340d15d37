package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;

/** One call of librbd on a handle, with memory for its arguments. */
interface NativeCall {
  int on(long pointer, NativeArena arena);

  /** Runs a call while the handle is held open, and checks its return code. */
  static int run(NativeHandle handle, String operation, String object, NativeCall call) {
    long pointer = handle.enter();
    try (NativeArena arena = NativeArena.open()) {
      return ReturnCode.check(call.on(pointer, arena), operation, object);
    } finally {
      handle.exit();
    }
  }

  /** As {@link #run}, for a call that may report progress; {@code call} gets the listener's id. */
  static void runTracked(
      NativeHandle handle, String operation, String object, Progress progress, Tracked call) {
    long pointer = handle.enter();
    try (NativeArena arena = NativeArena.open()) {
      ProgressCall.run(progress, operation, object, id -> call.on(pointer, arena, id));
    } finally {
      handle.exit();
    }
  }

  /** A call that takes the progress callback's argument. */
  interface Tracked {
    int on(long pointer, NativeArena arena, long progressId);
  }
}
