package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.RbdCompletion;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import io.cephcsi.driver.reclaim.fs.InspectionStopped;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * An open image as the readers of file systems want it. Several reads are in flight at once. It is
 * asked before each of them whether to stop: some file systems take minutes to read.
 */
final class ImageReader implements BlockReader {
  private static final int PIECE_BYTES = 4 << 20;
  private static final int IN_FLIGHT = 16;

  private final RbdImage image;
  private final long size;
  private final BooleanSupplier stop;

  /**
   * Reads an image, which stays its caller's.
   *
   * @param stop whether to end with {@link InspectionStopped}; must not block
   */
  ImageReader(RbdImage image, BooleanSupplier stop) {
    this.image = image;
    this.stop = stop;
    this.size = image.size();
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    readAll(List.of(new Request(offset, into)));
  }

  @Override
  public void readAll(List<Request> reads) throws IOException {
    Deque<Running> running = new ArrayDeque<>();
    try {
      for (Request read : reads) {
        long at = read.offset();
        for (int left = read.into().remaining(); left > 0; ) {
          int length = Math.min(left, PIECE_BYTES);
          if (running.size() == IN_FLIGHT) {
            finish(running.removeFirst());
          }
          if (stop.getAsBoolean()) {
            throw new InspectionStopped();
          }
          running.addLast(new Running(image.readAsync(at, length), read.into(), length));
          at += length;
          left -= length;
        }
      }
      while (!running.isEmpty()) {
        finish(running.removeFirst());
      }
    } finally {
      running.forEach(each -> each.completion.close());
    }
  }

  private void finish(Running done) throws IOException {
    try (RbdCompletion completion = done.completion) {
      byte[] data = completion.awaitBytes();
      if (data.length != done.length) {
        throw new IOException(
            image + " gave " + data.length + " bytes where " + done.length + " were asked");
      }
      done.into.put(data); // pieces of a buffer end in the order in which they were started
    }
  }

  /** A read on its way, and where its bytes go. */
  private record Running(RbdCompletion completion, ByteBuffer into, int length) {}
}
