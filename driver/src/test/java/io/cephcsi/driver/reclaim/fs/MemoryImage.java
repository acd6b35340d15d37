package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;

/** Bytes in memory as a device. */
final class MemoryImage implements BlockReader {
  private final byte[] bytes;

  MemoryImage(byte[] bytes) {
    this.bytes = bytes;
  }

  @Override
  public long size() {
    return bytes.length;
  }

  @Override
  public void read(long offset, ByteBuffer into) {
    into.put(bytes, Math.toIntExact(offset), into.remaining());
  }
}
