package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Big-endian fields of a piece of XFS metadata, and the checks that all pieces share. */
final class XfsFields {
  private static final int UUID_LENGTH = 16;

  private final ByteBuffer bytes;

  XfsFields(ByteBuffer bytes) {
    this.bytes = bytes.slice(0, bytes.limit()).order(ByteOrder.BIG_ENDIAN);
  }

  /** A part of these bytes with offsets of its own. */
  XfsFields part(int offset, int length) {
    return new XfsFields(bytes.slice(offset, length));
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

  /** 32 bits as they are; negative from 2^31 on. */
  int u32(int at) {
    return bytes.getInt(at);
  }

  /** 32 bits as a number from 0 to 2^32 - 1. */
  long number(int at) {
    return bytes.getInt(at) & 0xffffffffL;
  }

  long u64(int at) {
    return bytes.getLong(at);
  }

  byte[] uuid(int at) {
    byte[] uuid = new byte[UUID_LENGTH];
    bytes.get(at, uuid);
    return uuid;
  }

  ByteBuffer bytes() {
    return bytes;
  }

  /** Whether the CRC-32C stored little-endian at {@code field} covers all of these bytes. */
  boolean checksumAt(int field) {
    return Checksums.crc32cWithout(bytes, field) == Integer.reverseBytes(u32(field));
  }
}
