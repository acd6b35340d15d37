package io.cephcsi.bindings.rados;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.profile.RadosOperation;
import java.util.function.LongToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * A pending asynchronous operation ({@code rados_completion_t}). Closing it waits until it is
 * complete. As one is created for each asynchronous operation, it uses {@link #enter()} and {@link
 * #exit()} itself, which allocate nothing.
 */
public final class Completion extends NativeHandle {
  private final String operation;
  private final Target target;
  private final boolean versionAsserted;
  private volatile boolean unanswered;
  private volatile @Nullable RadosOperation event;

  private Completion(String operation, Target target, boolean versionAsserted, long pointer) {
    super(target, target.io, pointer, false);
    this.operation = operation;
    this.target = target;
    this.versionAsserted = versionAsserted;
  }

  static Completion create(IoContext io, String operation, String object, boolean versionAsserted) {
    Target target = new Target(io, object);
    try (NativeArena arena = NativeArena.open()) {
      long out = arena.cell(0);
      int code = LibRados.rados_aio_create_completion2(0, null, out);
      if (code < 0) {
        check(code, "rados_aio_create_completion2", target.described());
      }
      return new Completion(operation, target, versionAsserted, arena.getLong(out));
    }
  }

  /** Starts the operation; a completion whose operation does not start is closed. */
  void start(LongToIntFunction begin) {
    long completion = enter();
    try {
      event = RadosOperation.begun();
      int code = begin.applyAsInt(completion);
      if (code < 0) {
        record(code);
        throw failure(code);
      }
      unanswered = true;
    } finally {
      exit();
      if (!unanswered) {
        close();
      }
    }
  }

  @Override
  protected void destroy(long pointer) {
    if (unanswered) {
      LibRados.rados_aio_wait_for_complete(pointer);
      if (event != null) {
        record(LibRados.rados_aio_get_return_value(pointer));
      }
    }
    LibRados.rados_aio_release(pointer);
  }

  /** Whether the cluster has answered; does not block. */
  public boolean isComplete() {
    long completion = enter();
    try {
      return LibRados.rados_aio_is_complete(completion) != 0;
    } finally {
      exit();
    }
  }

  /**
   * Waits for the cluster's answer ({@code rados_aio_wait_for_complete}).
   *
   * @throws io.cephcsi.bindings.error.CephException if the operation failed
   */
  public void await() {
    long completion = enter();
    try {
      LibRados.rados_aio_wait_for_complete(completion);
      unanswered = false;
      int code = LibRados.rados_aio_get_return_value(completion);
      record(code);
      if (code < 0) {
        throw failure(code);
      }
    } finally {
      exit();
    }
  }

  /**
   * The version of the object after the operation ({@code rados_aio_get_version}); to be asked once
   * {@link #await()} has returned.
   */
  public long version() {
    long completion = enter();
    try {
      return LibRados.rados_aio_get_version(completion);
    } finally {
      exit();
    }
  }

  /** Writes the event, if there is one, at the first time that the answer is seen. */
  private void record(int code) {
    if (event != null) {
      synchronized (target) {
        target.io.recorded(event, code, operation, target.object, 0);
        event = null;
      }
    }
  }

  private RuntimeException failure(int code) {
    return IoContext.failure(code, operation, target.described(), versionAsserted);
  }

  /** What the operation is about; it is described for messages only. */
  private record Target(IoContext io, String object) {
    String described() {
      return io.describe(object);
    }

    @Override
    public String toString() {
      return "operation on " + described();
    }
  }
}
