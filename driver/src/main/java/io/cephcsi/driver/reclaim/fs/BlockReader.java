package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Read access to a block device whose content does not change while it is inspected.
 *
 * <p>The readers of this package ask for nothing outside {@code [0, size())}.
 */
public interface BlockReader {

  /** Size of the device in bytes. */
  long size();

  /**
   * Reads exactly {@code into.remaining()} bytes; blocks until they are there.
   *
   * @param offset byte offset on the device
   * @param into filled from its position to its limit, where its position is left
   * @throws IOException if not all bytes could be read; an unchecked exception passes through the
   *     inspection unchanged as well
   */
  void read(long offset, ByteBuffer into) throws IOException;

  /**
   * Reads several ranges, in any order. Override it where requests can be in flight together: the
   * bitmaps of a file system without flex_bg lie 128 MiB apart, each of them a round trip.
   *
   * @param reads never empty; at most a few thousand
   * @throws IOException as {@link #read}
   */
  default void readAll(List<Request> reads) throws IOException {
    for (Request read : reads) {
      read(read.offset(), read.into());
    }
  }

  /**
   * One range to read.
   *
   * @param offset byte offset on the device
   * @param into as in {@link BlockReader#read}
   */
  record Request(long offset, ByteBuffer into) {}
}
