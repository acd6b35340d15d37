package io.cephcsi.bindings.rbd;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import io.cephcsi.bindings.internal.OwnedMemory;
import java.util.function.LongToIntFunction;

/**
 * A pending asynchronous operation of an image ({@code rbd_completion_t}). Closing it waits until
 * it is complete. The image cannot be closed before its completions. As one is created for each
 * asynchronous operation, it uses {@link #enter()} and {@link #exit()} itself, which allocate
 * nothing.
 */
public final class RbdCompletion extends NativeHandle {
  private final String operation;
  private final String path;
  private final OwnedMemory memory;
  private final long buffer;
  private volatile boolean started;

  private RbdCompletion(
      ImageData image, String operation, OwnedMemory memory, long buffer, long pointer) {
    super(operation + " on " + image.path(), image, pointer, false);
    this.operation = operation;
    this.path = image.path();
    this.memory = memory;
    this.buffer = buffer;
  }

  /** Creates one with memory that lives until it is closed; 0 bytes for none. */
  static RbdCompletion create(ImageData image, String operation, int bufferBytes) {
    OwnedMemory memory = new OwnedMemory();
    try (NativeArena arena = NativeArena.open()) {
      long buffer = bufferBytes == 0 ? 0 : memory.allocate(bufferBytes);
      long out = arena.cell(0);
      check(
          LibRbd.rbd_aio_create_completion(0, null, out),
          "rbd_aio_create_completion",
          image.path());
      return new RbdCompletion(image, operation, memory, buffer, arena.getLong(out));
    } catch (RuntimeException e) {
      memory.close();
      throw e;
    }
  }

  long buffer() {
    return buffer;
  }

  /** Starts the operation; a completion whose operation does not start is closed. */
  void start(LongToIntFunction begin) {
    int code = begin.applyAsInt(enter());
    exit();
    if (code < 0) {
      close();
      check(code, operation, path);
    }
    started = true;
  }

  @Override
  protected void destroy(long pointer) {
    if (started) {
      LibRbd.rbd_aio_wait_for_complete(pointer);
    }
    LibRbd.rbd_aio_release(pointer);
    if (memory != null) {
      memory.close();
    }
  }

  /** Whether the operation is complete; does not block. */
  public boolean isComplete() {
    long completion = enter();
    try {
      return LibRbd.rbd_aio_is_complete(completion) != 0;
    } finally {
      exit();
    }
  }

  /**
   * Waits until the operation is complete ({@code rbd_aio_wait_for_complete}).
   *
   * @return for a read, how many bytes were read; else 0
   * @throws io.cephcsi.bindings.error.CephException if the operation failed
   */
  public long await() {
    long completion = enter();
    try {
      LibRbd.rbd_aio_wait_for_complete(completion);
      return check(LibRbd.rbd_aio_get_return_value(completion), operation, path);
    } finally {
      exit();
    }
  }

  /**
   * Waits for a read.
   *
   * @return what was read; shorter at the image's end
   * @throws io.cephcsi.bindings.error.CephException if it failed
   */
  public byte[] awaitBytes() {
    long completion = enter();
    try {
      LibRbd.rbd_aio_wait_for_complete(completion);
      long got = check(LibRbd.rbd_aio_get_return_value(completion), operation, path);
      return NativeMemory.bytes(buffer, got);
    } finally {
      exit();
    }
  }
}
