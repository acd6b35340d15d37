package io.cephcsi.driver.reclaim.fs;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** An image file as a device; remembers what was read. */
final class ImageFile implements BlockReader, AutoCloseable {
  /** A read that was made. */
  record Extent(long offset, int length) {}

  private final FileChannel channel;
  private final long size;
  private final List<Extent> reads = new ArrayList<>();

  ImageFile(Path path) throws IOException {
    channel = FileChannel.open(path, StandardOpenOption.READ);
    size = channel.size();
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    reads.add(new Extent(offset, into.remaining()));
    long position = offset;
    while (into.hasRemaining()) {
      int count = channel.read(into, position);
      if (count < 0) {
        throw new EOFException("end of file at " + position);
      }
      position += count;
    }
  }

  List<Extent> reads() {
    return reads;
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
