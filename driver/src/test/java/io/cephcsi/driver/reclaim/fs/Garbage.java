package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;

/** Overwrites ranges of an image: what a discard may leave there is not known. */
final class Garbage {
  private static final int PIECE = 1 << 20;

  private Garbage() {}

  /** Writes over all of each range, or over both ends of what is longer than {@code most} bytes. */
  static void write(Path image, List<FreeRange> ranges, long most) throws IOException {
    try (FileChannel channel = FileChannel.open(image, StandardOpenOption.WRITE)) {
      for (FreeRange range : ranges) {
        if (range.length() <= most) {
          write(channel, range.offset(), range.length());
        } else {
          write(channel, range.offset(), PIECE);
          write(channel, range.end() - PIECE, PIECE);
        }
      }
    }
  }

  private static void write(FileChannel channel, long offset, long length) throws IOException {
    byte[] garbage = new byte[(int) Math.min(length, PIECE)];
    Arrays.fill(garbage, (byte) 0xDB);
    for (long at = offset; at < offset + length; ) {
      int count = (int) Math.min(garbage.length, offset + length - at);
      at += channel.write(ByteBuffer.wrap(garbage, 0, count), at);
    }
  }
}
