package io.cephcsi.bindings.rbd;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import io.cephcsi.bindings.internal.OwnedMemory;
import io.cephcsi.bindings.profile.LibrbdCall;
import java.util.function.LongToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * A pending asynchronous operation of an image ({@code rbd_completion_t}). Closing it waits until
 * it is complete. The image cannot be closed before its completions. As one is created for each
 * asynchronous operation, it uses {@link #enter()} and {@link #exit()} itself, which allocate
 * nothing.
 */
public final class RbdCompletion extends NativeHandle {
  private final String operation;
  private final ImageData image;
  private final long bytes;
  private final OwnedMemory memory;
  private final long buffer;
  private volatile boolean started;
  private volatile @Nullable LibrbdCall event;

  private RbdCompletion(
      ImageData image,
      String operation,
      long bytes,
      OwnedMemory memory,
      long buffer,
      long pointer) {
    super(operation + " on " + image.path(), image, pointer, false);
    this.operation = operation;
    this.image = image;
    this.bytes = bytes;
    this.memory = memory;
    this.buffer = buffer;
  }

  /**
   * Creates one with memory that lives until it is closed; 0 bytes for none.
   *
   * @param bytes how much data it is about, unless its result tells
   */
  static RbdCompletion create(ImageData image, String operation, long bytes, int bufferBytes) {
    OwnedMemory memory = new OwnedMemory();
    try (NativeArena arena = NativeArena.open()) {
      long buffer = bufferBytes == 0 ? 0 : memory.allocate(bufferBytes);
      long out = arena.cell(0);
      check(
          LibRbd.rbd_aio_create_completion(0, null, out),
          "rbd_aio_create_completion",
          image.path());
      return new RbdCompletion(image, operation, bytes, memory, buffer, arena.getLong(out));
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
    event = LibrbdCall.begun();
    int code = begin.applyAsInt(enter());
    exit();
    if (code < 0) {
      record(code);
      close();
      check(code, operation, image.path());
    }
    started = true;
  }

  @Override
  protected void destroy(long pointer) {
    if (started) {
      LibRbd.rbd_aio_wait_for_complete(pointer);
      if (event != null) {
        record(LibRbd.rbd_aio_get_return_value(pointer));
      }
    }
    LibRbd.rbd_aio_release(pointer);
    if (memory != null) {
      memory.close();
    }
  }

  /** Writes the event, if there is one, at the first time that the result is seen. */
  private long record(long code) {
    if (event != null) {
      synchronized (memory) {
        image.recorded(event, code, operation, bytes);
        event = null;
      }
    }
    return code;
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
      return check(record(LibRbd.rbd_aio_get_return_value(completion)), operation, image.path());
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
      long got =
          check(record(LibRbd.rbd_aio_get_return_value(completion)), operation, image.path());
      return NativeMemory.bytes(buffer, got);
    } finally {
      exit();
    }
  }
}
