package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** An attribute of a file, such as a name or a stream; of a long one, the part in this record. */
final class NtfsAttribute {
  static final int FILE_NAME = 0x30;
  static final int VOLUME_INFORMATION = 0x70;
  static final int DATA = 0x80;
  static final int BITMAP = 0xB0;

  private static final int LAST_TYPE = 0x100;
  private static final int RESIDENT_HEADER = 0x18;
  private static final int HEADER = 0x40;
  private static final int HEADER_WITH_TOTAL = 0x48;
  private static final int COMPRESSED = 0x0001;
  private static final int ENCRYPTED = 0x4000;
  private static final int SPARSE = 0x8000;

  private final ByteBuffer bytes;
  private final long record;
  private final boolean resident;
  private final boolean counted;

  /**
   * @param bytes the whole attribute
   * @param record number of the record, for messages
   */
  NtfsAttribute(ByteBuffer bytes, long record) {
    this.bytes = bytes;
    this.record = record;
    int type = type();
    if (type <= 0 || type > LAST_TYPE || type % 0x10 != 0) {
      throw Refusal.unsupported(
          "record " + record + " has an attribute of type 0x" + Integer.toHexString(type));
    }
    require(bytes.limit() >= RESIDENT_HEADER && (bytes.get(8) & 0xfe) == 0, "is malformed");
    resident = bytes.get(8) == 0;
    int flags = bytes.getShort(0x0C) & 0xffff;
    if ((flags & ~(COMPRESSED | ENCRYPTED | SPARSE)) != 0) {
      throw Refusal.unsupported(
          "record " + record + " has an attribute with flags 0x" + Integer.toHexString(flags));
    }
    counted = !resident && (flags & (COMPRESSED | SPARSE)) != 0 && bytes.getLong(0x10) == 0;
    int nameEnd = (bytes.getShort(0x0A) & 0xffff) + 2 * nameLength();
    require(nameLength() == 0 || nameEnd <= bytes.limit(), "has a name too long");
    if (resident) {
      int value = bytes.getShort(0x14) & 0xffff;
      int length = bytes.getInt(0x10);
      require(value <= bytes.limit() && length >= 0, "has a wrong length");
      require(length <= bytes.limit() - value, "has a wrong length");
    } else {
      require(bytes.limit() > (counted ? HEADER_WITH_TOTAL : HEADER), "is too short");
      int runs = bytes.getShort(0x20) & 0xffff;
      require(runs >= (counted ? HEADER_WITH_TOTAL : HEADER) && runs < bytes.limit(), "is short");
      require(firstCluster() >= 0 && endCluster() >= firstCluster(), "has a wrong range");
    }
  }

  int type() {
    return bytes.getInt(0);
  }

  boolean resident() {
    return resident;
  }

  boolean named() {
    return nameLength() != 0;
  }

  private int nameLength() {
    return bytes.get(9) & 0xff;
  }

  /** A number that stands for the file, the type and the name. */
  long key(long base) {
    long key = RangeTally.mix(base * LAST_TYPE * 2 + type());
    int at = bytes.getShort(0x0A) & 0xffff;
    for (int i = 0; i < nameLength(); i++) {
      key = RangeTally.mix(key + 1 + (bytes.getShort(at + 2 * i) & 0xffff));
    }
    return key;
  }

  /** The value of a resident attribute. */
  ByteBuffer value() {
    return bytes
        .slice(bytes.getShort(0x14) & 0xffff, bytes.getInt(0x10))
        .order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Which cluster of the attribute this part starts with. */
  long firstCluster() {
    return bytes.getLong(0x10);
  }

  /** The cluster of the attribute after this part. */
  long endCluster() {
    return bytes.getLong(0x18) + 1;
  }

  /** Bytes that all parts take with their holes; only the first part has it, as what follows. */
  long allocated() {
    return size(0x28);
  }

  long size() {
    return size(0x30);
  }

  long initialized() {
    return size(0x38);
  }

  /** Whether the attribute counts the bytes that it takes without its holes. */
  boolean counted() {
    return counted;
  }

  long allocatedWithoutHoles() {
    return size(0x40);
  }

  private long size(int at) {
    long size = bytes.getLong(at);
    require(size >= 0, "has a negative size");
    return size;
  }

  /** Decodes where the clusters of this part are. */
  NtfsRuns runs(long clusters) {
    int at = bytes.getShort(0x20) & 0xffff;
    ByteBuffer list = bytes.slice(at, bytes.limit() - at);
    NtfsRuns runs = new NtfsRuns(list, clusters);
    require(runs.length() == endCluster() - firstCluster(), "has another length than its runs");
    return runs;
  }

  /** The name that a FILE_NAME attribute holds, and the number of its directory before it. */
  String fileName() {
    ByteBuffer value = value();
    require(value.limit() >= 0x42, "has no name");
    int length = 2 * (value.get(0x40) & 0xff);
    require(value.limit() >= 0x42 + length, "has a name too long");
    byte[] name = new byte[length];
    value.get(0x42, name);
    long directory = value.getLong(0) & 0xffffffffffffL;
    return directory + "/" + new String(name, StandardCharsets.UTF_16LE);
  }

  private void require(boolean holds, String otherwise) {
    if (!holds) {
      throw Refusal.inconsistent(
          String.format("attribute 0x%x of record %d %s", type(), record, otherwise));
    }
  }
}
