package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.profile.DiscardBatch;
import io.cephcsi.bindings.profile.LibrbdCall;
import org.jspecify.annotations.Nullable;

/**
 * The events of the discards of a pipeline, by their place in its ring. Nothing is allocated and
 * nothing asked while nobody records them. Used by one thread.
 *
 * <p>The pipeline awaits its discards in their order, and many are complete before it is their
 * turn: with each discard that is started, some of the others are asked whether they are, so that
 * their durations are right but for the time of some discards.
 */
final class DiscardEvents {
  private static final String OPERATION = "rbd_aio_discard";
  private static final int LOOKS = 16;

  private final ImageData image;
  private final int inFlight;
  private @Nullable LibrbdCall @Nullable [] running;
  private boolean[] ended = {};
  private @Nullable DiscardBatch batch;
  private boolean begun;
  private long next;

  DiscardEvents(ImageData image, int inFlight) {
    this.image = image;
    this.inFlight = inFlight;
  }

  /** A discard is about to be started in a place that is free. */
  void starting(int slot) {
    if (!begun) {
      begun = true;
      batch = DiscardBatch.begun();
    }
    LibrbdCall event = LibrbdCall.begun();
    if (event != null && running == null) {
      running = new LibrbdCall[inFlight];
      ended = new boolean[inFlight];
    }
    if (running != null) {
      running[slot] = event;
      ended[slot] = false;
    }
  }

  /**
   * Ends the events of those that are complete, of some places, and of the following ones at the
   * next time: each question takes some of the time that is measured.
   */
  void look(long[] completions, long awaited, long started) {
    if (running == null) {
      return;
    }
    for (int looked = 0; looked < Math.min(LOOKS, started - awaited); looked++) {
      next = next < awaited || next >= started - 1 ? awaited : next + 1;
      int slot = (int) (next % inFlight);
      LibrbdCall event = running[slot];
      if (event != null && !ended[slot] && LibRbd.rbd_aio_is_complete(completions[slot]) != 0) {
        event.end();
        ended[slot] = true;
      }
    }
  }

  /** A discard is complete, or was not started. */
  void ended(int slot, long length, long code) {
    if (running != null) {
      image.recorded(running[slot], code, OPERATION, length);
      running[slot] = null;
    }
  }

  /**
   * All that were started are complete; the next one belongs to another batch.
   *
   * @param code 0, or the first error number, negative
   */
  void drained(long discards, long bytes, int code) {
    if (batch != null) {
      batch.ended(
          OPERATION,
          image.io().pool(),
          image.io().namespace(),
          image.openedBy(),
          inFlight,
          discards,
          bytes,
          code);
      batch = null;
    }
    begun = false;
  }
}
