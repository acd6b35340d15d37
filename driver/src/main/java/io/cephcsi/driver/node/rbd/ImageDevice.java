package io.cephcsi.driver.node.rbd;

import com.sun.nio.file.ExtendedOpenOption;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Set;

/**
 * Reads the device of an image past the page cache, as cryptsetup does: another node may have
 * written the image since this one read it last. A file in the place of a device is read as files
 * are. Not safe for several threads.
 */
final class ImageDevice implements BlockReader, AutoCloseable {
  private static final int ALIGNMENT = 4096;

  private final FileChannel channel;
  private final long size;

  private ImageDevice(FileChannel channel, long size) {
    this.channel = channel;
    this.size = size;
  }

  static ImageDevice open(Path device) throws IOException {
    Set<OpenOption> options = new HashSet<>(Set.of(StandardOpenOption.READ));
    if (BlockDevice.at(device).isPresent()) {
      options.add(ExtendedOpenOption.DIRECT);
    }
    FileChannel channel = FileChannel.open(device, options);
    try {
      return new ImageDevice(channel, channel.size());
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    long from = offset / ALIGNMENT * ALIGNMENT;
    long end = (offset + into.remaining() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    ByteBuffer bytes =
        ByteBuffer.allocateDirect(Math.toIntExact(end - from) + ALIGNMENT).alignedSlice(ALIGNMENT);
    bytes.limit(Math.toIntExact(end - from));
    int wanted = Math.toIntExact(offset - from) + into.remaining();
    while (bytes.position() < wanted) {
      if (bytes.position() % ALIGNMENT != 0 || channel.read(bytes, from + bytes.position()) < 0) {
        throw new EOFException("it ends at " + (from + bytes.position()) + " bytes");
      }
    }
    into.put(bytes.slice(Math.toIntExact(offset - from), into.remaining()));
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
