package io.cephcsi.bindings.rbd;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import io.cephcsi.bindings.profile.LibrbdCall;
import io.cephcsi.bindings.rados.IoContext;
import org.jspecify.annotations.Nullable;

/**
 * The data of an open image: a block device of {@link RbdImage#size()} bytes.
 *
 * <p>Offsets and lengths are in bytes. What lies beyond the end fails with EINVAL, or is cut when
 * it begins before the end. Writing fails with EROFS on an image that was opened for reading or at
 * a snapshot, and while another client holds the exclusive lock by {@link ExclusiveLock}; it fails
 * with {@link io.cephcsi.bindings.error.CephException.Blocklisted} when this client is blocklisted.
 *
 * <p>With librbd's cache on (the option {@code rbd_cache}, its default), a write or discard may
 * return before the cluster has answered: its failure comes out of the next {@link #flush()}, once.
 * Only what was flushed is stored.
 *
 * <p>Every call blocks unless its name ends in Async.
 *
 * <p>This is the hot path of space reclaim: it takes the handle by {@link #enter()} and {@link
 * #exit()} itself, so that a call allocates no lambda beside its result.
 */
public abstract sealed class ImageData extends NativeHandle permits ImageProperties {
  /** librbd returns the length as int: longer synchronous ranges are cut into such pieces. */
  private static final long PIECE_BYTES = 1L << 30;

  private final String path;
  private final IoContext io;

  ImageData(String path, IoContext io, long pointer) {
    super("image " + path, io, pointer, true);
    this.path = path;
    this.io = io;
  }

  /** The pool that it was opened in. */
  final IoContext io() {
    return io;
  }

  /** The name or id by which it was opened, and its snapshot if any, for events. */
  final String openedBy() {
    int space = io.namespace().isEmpty() ? 0 : io.namespace().length() + 1;
    return path.substring(io.pool().length() + 1 + space);
  }

  /**
   * Writes the event of a call if there is one. Java evaluates arguments in their order: an event
   * that is begun as the first of them begins before the call that is the second.
   *
   * @param bytes how much data it was about, 0 where that is not known; of a read the code says it
   * @return the code
   */
  final long recorded(@Nullable LibrbdCall event, long code, String operation, long bytes) {
    if (event != null) {
      event.ended(operation, io.pool(), io.namespace(), openedBy(), code > 0 ? code : bytes, code);
    }
    return code;
  }

  /** As {@link #recorded(LibrbdCall, long, String, long)}. */
  final int recorded(@Nullable LibrbdCall event, int code, String operation, long bytes) {
    return (int) recorded(event, (long) code, operation, bytes);
  }

  /** Pool, namespace and name, for messages. */
  final String path() {
    return path;
  }

  /** One call on the image, checked. */
  final int call(String operation, Call call) {
    return call(
        operation,
        path,
        (image, arena) -> recorded(LibrbdCall.begun(), call.on(image, arena), operation, 0));
  }

  /** One call on the image that may report progress, checked. */
  final void callTracked(String operation, Progress progress, ProgressCall.Tracked call) {
    callTracked(operation, path, progress, call);
  }

  /** As {@link #callTracked(String, Progress, ProgressCall.Tracked)}, about a part of the image. */
  final void callTracked(
      String operation, String object, Progress progress, ProgressCall.Tracked call) {
    ProgressCall.run(
        this,
        operation,
        object,
        progress,
        (image, arena, id) ->
            recorded(LibrbdCall.begun(), call.on(image, arena, id), operation, 0));
  }

  /**
   * Reads ({@code rbd_read}).
   *
   * @return what is there, zeroes where nothing is allocated; shorter at the image's end
   */
  public final byte[] read(long offset, int length) {
    long image = enter();
    try (NativeArena arena = NativeArena.open()) {
      long buffer = arena.allocate(length);
      long got =
          check(
              recorded(
                  LibrbdCall.begun(),
                  LibRbd.rbd_read(image, offset, length, buffer),
                  "rbd_read",
                  0),
              "rbd_read",
              path);
      return arena.getBytes(buffer, (int) got);
    } finally {
      exit();
    }
  }

  /** Writes ({@code rbd_write}). */
  public final void write(long offset, byte[] data) {
    long image = enter();
    try (NativeArena arena = NativeArena.open()) {
      check(
          recorded(
              LibrbdCall.begun(),
              LibRbd.rbd_write(image, offset, data.length, arena.bytes(data)),
              "rbd_write",
              data.length),
          "rbd_write",
          path);
    } finally {
      exit();
    }
  }

  /**
   * Frees the space of a range ({@code rbd_discard}).
   *
   * <p>Inside an object, librbd rounds the range inwards to multiples of the option {@code
   * rbd_discard_granularity_bytes} (64 KiB): what is outside of it keeps its data. Who needs zeroes
   * takes {@link #writeZeroes}.
   */
  public final void discard(long offset, long length) {
    long image = enter();
    try {
      for (long done = 0; done < length; done += PIECE_BYTES) {
        long piece = Math.min(PIECE_BYTES, length - done);
        check(
            recorded(
                LibrbdCall.begun(),
                LibRbd.rbd_discard(image, offset + done, piece),
                "rbd_discard",
                piece),
            "rbd_discard",
            path);
      }
    } finally {
      exit();
    }
  }

  /** Makes a range read as zeroes, freeing what can be freed ({@code rbd_write_zeroes}). */
  public final void writeZeroes(long offset, long length) {
    long image = enter();
    try {
      for (long done = 0; done < length; done += PIECE_BYTES) {
        long piece = Math.min(PIECE_BYTES, length - done);
        check(
            recorded(
                LibrbdCall.begun(),
                LibRbd.rbd_write_zeroes(image, offset + done, piece, 0, 0),
                "rbd_write_zeroes",
                piece),
            "rbd_write_zeroes",
            path);
      }
    } finally {
      exit();
    }
  }

  /**
   * Waits until everything written and discarded is stored safely ({@code rbd_flush}).
   *
   * @throws io.cephcsi.bindings.error.CephException if a write or discard since the last flush
   *     failed and did not say so itself
   */
  public final void flush() {
    call("rbd_flush", (image, arena) -> LibRbd.rbd_flush(image));
  }

  /** Starts a {@link #discard} ({@code rbd_aio_discard}); the range may be of any length. */
  public final RbdCompletion discardAsync(long offset, long length) {
    return start(
        "rbd_aio_discard",
        length,
        0,
        (image, c, none) -> LibRbd.rbd_aio_discard(image, offset, length, c));
  }

  /** Starts a write ({@code rbd_aio_write}); the data is copied before this returns. */
  public final RbdCompletion writeAsync(long offset, byte[] data) {
    return start(
        "rbd_aio_write",
        data.length,
        data.length,
        (image, c, buffer) -> {
          NativeMemory.putBytes(buffer, data);
          return LibRbd.rbd_aio_write(image, offset, data.length, buffer, c);
        });
  }

  /** Starts a read ({@code rbd_aio_read}); {@link RbdCompletion#awaitBytes()} gives the data. */
  public final RbdCompletion readAsync(long offset, int length) {
    return start(
        "rbd_aio_read",
        0,
        length,
        (image, c, buffer) -> LibRbd.rbd_aio_read(image, offset, length, buffer, c));
  }

  /** Starts a {@link #flush} ({@code rbd_aio_flush}). */
  public final RbdCompletion flushAsync() {
    return start("rbd_aio_flush", 0, 0, (image, c, none) -> LibRbd.rbd_aio_flush(image, c));
  }

  /**
   * Opens a pipeline of discards, for many of them.
   *
   * @param inFlight how many run at once, 1 to 1024; 16 saturate one OSD
   */
  public final DiscardPipeline discardPipeline(int inFlight) {
    return DiscardPipeline.open(this, inFlight);
  }

  private RbdCompletion start(String operation, long bytes, int bufferBytes, AsyncCall call) {
    long image = enter();
    try {
      RbdCompletion completion = RbdCompletion.create(this, operation, bytes, bufferBytes);
      completion.start(c -> call.on(image, c, completion.buffer()));
      return completion;
    } finally {
      exit();
    }
  }

  /** An asynchronous call of librbd. */
  private interface AsyncCall {
    int on(long image, long completion, long buffer);
  }
}
