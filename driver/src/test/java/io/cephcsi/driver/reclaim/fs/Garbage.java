package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Random;

/** Overwrites ranges of an image with noise: what a discard may leave there is not known. */
final class Garbage {
  private static final int PIECE = 1 << 20;

  private Garbage() {}

  /**
   * Writes over all of each range, or over both ends of a long one, which would fill the disk of
   * the tests.
   *
   * @param end the bytes of such an end
   */
  static void write(Path image, List<FreeRange> ranges, long end, Random random)
      throws IOException {
    byte[] noise = new byte[PIECE];
    random.nextBytes(noise);
    try (FileChannel channel = FileChannel.open(image, StandardOpenOption.WRITE)) {
      for (FreeRange range : ranges) {
        long head = Math.min(range.length(), end);
        write(channel, range.offset(), head, noise);
        long tail = Math.min(range.length() - head, end);
        write(channel, range.end() - tail, tail, noise);
      }
    }
  }

  private static void write(FileChannel channel, long offset, long length, byte[] noise)
      throws IOException {
    for (long at = offset; at < offset + length; ) {
      int count = (int) Math.min(noise.length, offset + length - at);
      at += channel.write(ByteBuffer.wrap(noise, 0, count), at);
    }
  }
}
