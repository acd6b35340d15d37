package io.cephcsi.driver.reclaim.luks;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.reclaim.fs.BlockReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** A file as a device; nothing may be read behind its end. */
record FileDevice(FileChannel channel, long size) implements BlockReader {
  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    assertThat(offset + into.remaining()).isLessThanOrEqualTo(size);
    while (into.hasRemaining()) {
      assertThat(channel.read(into, offset + into.position())).isPositive();
    }
  }
}
