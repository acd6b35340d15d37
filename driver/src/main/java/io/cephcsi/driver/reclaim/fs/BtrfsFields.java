package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Little-endian fields of a piece of btrfs metadata. */
final class BtrfsFields {
  static final int UUID_LENGTH = 16;

  private final ByteBuffer bytes;

  BtrfsFields(ByteBuffer bytes) {
    this.bytes = bytes.slice(0, bytes.limit()).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** A part of these bytes with offsets of its own; must lie inside. */
  BtrfsFields part(int offset, int length) {
    return new BtrfsFields(bytes.slice(offset, length));
  }

  int length() {
    return bytes.limit();
  }

  int u8(int at) {
    return bytes.get(at) & 0xff;
  }

  int u16(int at) {
    return bytes.getShort(at) & 0xffff;
  }

  long u32(int at) {
    return bytes.getInt(at) & 0xffffffffL;
  }

  /** 64 bits as they are; negative from 2^63 on. */
  long u64(int at) {
    return bytes.getLong(at);
  }

  BtrfsKey key(int at) {
    return new BtrfsKey(u64(at), u8(at + 8), u64(at + 9));
  }

  /** The UUID at a byte; equal to another by its content. */
  ByteBuffer uuid(int at) {
    return bytes.slice(at, UUID_LENGTH);
  }

  /** Whether {@code length} bytes from {@code at} on are those of another piece. */
  boolean same(int at, BtrfsFields other, int length) {
    return bytes.slice(at, length).equals(other.bytes.slice(at, length));
  }

  ByteBuffer bytes() {
    return bytes;
  }
}
