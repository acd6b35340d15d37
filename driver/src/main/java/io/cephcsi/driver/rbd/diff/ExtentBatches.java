package io.cephcsi.driver.rbd.diff;

import io.cephcsi.driver.volume.Extent;
import java.util.ArrayList;
import java.util.List;

/**
 * Puts ranges that touch together and hands them on in batches, by {@link #flush} and {@link
 * #finish}, which may block. Used by one thread.
 */
final class ExtentBatches {
  private final long capacity;
  private final long from;
  private final int max;
  private final Extent.Sink sink;
  private final List<Extent> ready = new ArrayList<>();
  private long offset;
  private long end;
  private boolean sent;

  /**
   * @param capacity the size of the volume in bytes
   * @param from what lies before is cut off
   * @param max the most extents in one batch
   * @param sink gets the batches
   */
  ExtentBatches(long capacity, long from, int max, Extent.Sink sink) {
    this.capacity = capacity;
    this.from = from;
    this.max = max;
    this.sink = sink;
  }

  /** As {@link Extent.Sink#requireTaker}. */
  void requireTaker() {
    sink.requireTaker();
  }

  /** Adds a range, which begins behind the one before or where it ends. */
  void add(long start, long length) {
    long begin = Math.max(start, from);
    long stop = Math.min(start + length, capacity);
    if (begin >= stop) {
      return;
    }
    if (begin > end || end == offset) {
      close();
      offset = begin;
    }
    end = Math.max(end, stop);
  }

  private void close() {
    if (end > offset) {
      ready.add(new Extent(offset, end - offset));
    }
    offset = end;
  }

  /** Hands full batches on; the last range may still grow. */
  void flush() {
    while (ready.size() >= max) {
      send(ready.subList(0, max));
    }
  }

  /** Hands on what is left; without any range one empty batch, which tells the capacity. */
  void finish() {
    close();
    flush();
    if (!ready.isEmpty() || !sent) {
      send(ready);
    }
  }

  private void send(List<Extent> batch) {
    sink.accept(capacity, List.copyOf(batch));
    batch.clear();
    sent = true;
  }
}
