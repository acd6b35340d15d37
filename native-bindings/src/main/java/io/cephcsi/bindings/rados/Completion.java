package io.cephcsi.bindings.rados;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import java.util.function.LongToIntFunction;

/**
 * An asynchronous operation on its way ({@code rados_completion_t}). Closing it before it is
 * complete waits for it.
 */
public final class Completion extends NativeHandle {
  private final String operation;
  private final String object;
  private final boolean versionAsserted;
  private volatile boolean started;

  private Completion(
      IoContext io, String operation, String object, boolean versionAsserted, long pointer) {
    super("operation on " + object, io, pointer, false);
    this.operation = operation;
    this.object = object;
    this.versionAsserted = versionAsserted;
  }

  static Completion create(IoContext io, String operation, String object, boolean versionAsserted) {
    try (NativeArena arena = NativeArena.open()) {
      long out = arena.cell(0);
      check(
          LibRados.rados_aio_create_completion2(0, null, out),
          "rados_aio_create_completion2",
          object);
      return new Completion(io, operation, object, versionAsserted, arena.getLong(out));
    }
  }

  /** Starts the operation; a completion whose operation does not start is closed. */
  void start(LongToIntFunction begin) {
    long completion = enter();
    try {
      int code = begin.applyAsInt(completion);
      if (code < 0) {
        throw IoContext.failure(code, operation, object, versionAsserted);
      }
      started = true;
    } finally {
      exit();
      if (!started) {
        close();
      }
    }
  }

  @Override
  protected void destroy(long pointer) {
    if (started) {
      LibRados.rados_aio_wait_for_complete(pointer);
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
   * @return the version of the object after the operation
   * @throws io.cephcsi.bindings.error.CephException if the operation failed
   */
  public long await() {
    long completion = enter();
    try {
      LibRados.rados_aio_wait_for_complete(completion);
      int code = LibRados.rados_aio_get_return_value(completion);
      if (code < 0) {
        throw IoContext.failure(code, operation, object, versionAsserted);
      }
      return LibRados.rados_aio_get_version(completion);
    } finally {
      exit();
    }
  }
}
