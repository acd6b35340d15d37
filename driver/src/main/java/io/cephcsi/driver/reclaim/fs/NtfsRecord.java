package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** A record of the file table: a file, or a part of one that needs several records. */
final class NtfsRecord {
  private static final int MAGIC = 0x454C4946;
  private static final int MAGIC_BAD = 0x44414142;
  private static final int IN_USE = 1;
  private static final int HEADER = 0x30;
  private static final int END = -1;
  private static final long NUMBER_MASK = 0xffffffffffffL;

  private final ByteBuffer bytes;
  private final long number;
  private final int used;

  /**
   * @param bytes of a record in use, as they are on disk; changed here
   * @param number its number in the table
   */
  NtfsRecord(ByteBuffer bytes, long number) {
    this.bytes = bytes;
    this.number = number;
    NtfsFixup.apply(bytes, "record " + number);
    used = bytes.getInt(0x18);
    require(bytes.getInt(0x1C) == bytes.limit(), "has a wrong size");
    require(used >= HEADER + 8 && used <= bytes.limit() && used % 8 == 0, "has a wrong length");
    require((bytes.getInt(0x2C) & 0xffffffffL) == (number & 0xffffffffL), "has another number");
    require((bytes.getShort(4) & 0xffff) >= HEADER, "is of another version");
  }

  /** Whether these bytes are a record in use. */
  static boolean inUse(ByteBuffer bytes, long number) {
    int magic = bytes.getInt(0);
    if (magic == MAGIC_BAD) {
      throw new Refusal(RefusalReason.HAS_ERRORS, "record " + number + " is marked as bad");
    }
    return magic == MAGIC && (bytes.getShort(0x16) & IN_USE) != 0;
  }

  /** Number of the first record of the file that this one belongs to. */
  long base() {
    long base = bytes.getLong(0x20);
    return base == 0 ? number : base & NUMBER_MASK;
  }

  boolean isBase() {
    return bytes.getLong(0x20) == 0;
  }

  long number() {
    return number;
  }

  List<NtfsAttribute> attributes() {
    List<NtfsAttribute> attributes = new ArrayList<>();
    int at = bytes.getShort(0x14) & 0xffff;
    int sequenceEnd = (bytes.getShort(4) & 0xffff) + 2 * (bytes.getShort(6) & 0xffff);
    require(at % 8 == 0 && at >= sequenceEnd, "has attributes at a wrong offset");
    int type = 0;
    while (true) {
      require(at <= used - 8, "has no end");
      int next = bytes.getInt(at);
      if (next == END) {
        return attributes;
      }
      int length = bytes.getInt(at + 4);
      require(next >= type, "has attributes in a wrong order");
      require(length > 0 && length % 8 == 0 && length <= used - at, "has an attribute too long");
      ByteBuffer part = bytes.slice(at, length).order(ByteOrder.LITTLE_ENDIAN);
      attributes.add(new NtfsAttribute(part, number));
      type = next;
      at += length;
    }
  }

  /** Whether both are the same but for the numbers that are counted up with each write. */
  boolean sameAs(NtfsRecord other) {
    int sequence = bytes.getShort(4) & 0xffff;
    int sequenceEnd = sequence + 2 * (bytes.getShort(6) & 0xffff);
    return used == other.used
        && bytes.slice(0, sequence).equals(other.bytes.slice(0, sequence))
        && bytes
            .slice(sequenceEnd, used - sequenceEnd)
            .equals(other.bytes.slice(sequenceEnd, used - sequenceEnd));
  }

  private void require(boolean holds, String otherwise) {
    if (!holds) {
      throw Refusal.inconsistent("record " + number + " " + otherwise);
    }
  }
}
