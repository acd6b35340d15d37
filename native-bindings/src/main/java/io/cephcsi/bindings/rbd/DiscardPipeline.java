package io.cephcsi.bindings.rbd;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import io.cephcsi.bindings.internal.OwnedMemory;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Many discards with a bounded number in flight: a ring whose oldest discard is awaited when it is
 * full. Nothing is allocated on the Java heap for a discard.
 *
 * <p>After one discard failed no further ones are started. Used by one thread. Closing waits for
 * what is in flight and says nothing of failures: {@link #drain()} first. The image cannot be
 * closed before its pipelines.
 */
public final class DiscardPipeline extends NativeHandle {
  private final ImageData image;
  private final OwnedMemory memory;
  private final long[] completions;
  private final long[] offsets;
  private final long[] lengths;
  private final DiscardEvents events;
  private long started;
  private long awaited;
  private long discardedBytes;
  private long batchBegan;
  private long bytesBefore;
  private @Nullable CephException failure;

  private DiscardPipeline(ImageData image, int inFlight, OwnedMemory memory, long out) {
    super("discards on " + image.path(), image, out, true);
    this.image = image;
    this.memory = memory;
    completions = new long[inFlight];
    offsets = new long[inFlight];
    lengths = new long[inFlight];
    events = new DiscardEvents(image, inFlight);
  }

  static DiscardPipeline open(ImageData image, int inFlight) {
    if (inFlight < 1 || inFlight > 1024) {
      throw new IllegalArgumentException(inFlight + " discards in flight are not 1 to 1024");
    }
    OwnedMemory memory = new OwnedMemory();
    try {
      return new DiscardPipeline(image, inFlight, memory, memory.allocate(Long.BYTES));
    } catch (RuntimeException e) {
      memory.close();
      throw e;
    }
  }

  @Override
  protected void destroy(long out) {
    if (completions != null) {
      while (awaited < started) {
        awaitOldest();
      }
      drained();
      memory.close();
    }
  }

  /**
   * Starts a discard; see {@link ImageData#discard} for what it frees. Blocks while the pipeline is
   * full.
   *
   * @throws CephException the failure of an earlier discard, or of this one's start
   */
  public void discard(long offset, long length) {
    discard(offset, length, () -> false);
  }

  /**
   * As {@link #discard(long, long)}, unless it is too late when there is room.
   *
   * @param stop asked when nothing is waited for any more; must not block
   * @return whether it was started
   */
  public boolean discard(long offset, long length, BooleanSupplier stop) {
    long out = enter();
    try {
      if (started - awaited == completions.length) {
        awaitOldest();
      }
      throwFailure();
      if (stop.getAsBoolean()) {
        return false;
      }
      start(out, offset, length);
      return true;
    } finally {
      exit();
    }
  }

  private void start(long out, long offset, long length) {
    long pointer = image.enter();
    try {
      check(
          LibRbd.rbd_aio_create_completion(0, null, out),
          "rbd_aio_create_completion",
          image.path());
      long completion = NativeMemory.getLong(out);
      int slot = (int) (started % completions.length);
      events.look(completions, awaited, started);
      events.starting(slot);
      int code = LibRbd.rbd_aio_discard(pointer, offset, length, completion);
      if (code < 0) {
        LibRbd.rbd_aio_release(completion);
        events.ended(slot, length, code);
        fail(code, offset, length);
        throwFailure();
      }
      completions[slot] = completion;
      offsets[slot] = offset;
      lengths[slot] = length;
      started++;
    } finally {
      image.exit();
    }
  }

  private void awaitOldest() {
    int slot = (int) (awaited % completions.length);
    long completion = completions[slot];
    LibRbd.rbd_aio_wait_for_complete(completion);
    long code = LibRbd.rbd_aio_get_return_value(completion);
    LibRbd.rbd_aio_release(completion);
    events.ended(slot, lengths[slot], code);
    awaited++;
    if (code < 0) {
      fail((int) code, offsets[slot], lengths[slot]);
    } else {
      discardedBytes += lengths[slot];
    }
  }

  private void fail(int code, long offset, long length) {
    if (failure == null) {
      failure =
          ReturnCode.exception(
              code, "rbd_aio_discard", image.path(), "at " + offset + ", length " + length);
    }
  }

  private void throwFailure() {
    if (failure != null) {
      throw failure;
    }
  }

  /**
   * Waits for all discards in flight and flushes the image: librbd's cache reports a discard as
   * complete before the cluster has answered, and its failure by the next flush only.
   *
   * @throws CephException the first failure, also when it was thrown before
   */
  public void drain() {
    enter();
    try {
      while (awaited < started) {
        events.look(completions, awaited, started);
        awaitOldest();
      }
      throwFailure();
      try {
        image.flush();
      } catch (CephException e) {
        failure = e;
        throw e;
      }
    } finally {
      drained();
      exit();
    }
  }

  /** To be called when nothing is in flight. */
  private void drained() {
    events.drained(started - batchBegan, discardedBytes - bytesBefore, code(failure));
    batchBegan = started;
    bytesBefore = discardedBytes;
  }

  private static int code(@Nullable CephException failure) {
    return failure == null ? 0 : failure.code();
  }

  /**
   * How many bytes the discards have that librbd reported as complete; stored safely after {@link
   * #drain()}.
   */
  public long discardedBytes() {
    return discardedBytes;
  }
}
