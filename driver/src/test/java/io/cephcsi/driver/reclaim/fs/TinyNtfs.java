package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/** A hand-made NTFS of 512 clusters of 1 KiB, with a file in two records and a hole in it. */
final class TinyNtfs {
  static final int CLUSTER = 1024;
  static final int CLUSTERS = 512;
  static final int TABLE = 16;
  static final int RECORDS = 32;

  /** The record with the second part of the file that the record before it begins. */
  static final int SECOND_PART = 25;

  private static final int MIRROR = 250;
  static final int LOG = 300;
  private static final int BITMAP = 60;
  private static final int TABLE_BITMAP = 61;

  final byte[] bytes = new byte[CLUSTERS * CLUSTER + 512];
  final List<FreeRange> free = new ArrayList<>();
  private final ByteBuffer disk = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  private final BitSet used = new BitSet();
  private int at;

  TinyNtfs() {
    boot(0);
    record(0, 0);
    data(0, RECORDS, RECORDS * 1024, TABLE, RECORDS);
    attribute(0xB0, 0, 1, 8, TABLE_BITMAP, 1);
    record(1, 0);
    data(0, 4, 4096, MIRROR, 4);
    record(2, 0);
    data(0, 128, 128 << 10, LOG, 128);
    record(3, 0);
    header(0x70, 0x28);
    disk.putInt(at + 0x10, 12).putShort(at + 0x14, (short) 0x18).put(at + 0x20, (byte) 3);
    disk.put(at + 0x21, (byte) 1);
    end(0x28);
    record(6, 0);
    data(0, 1, 64, BITMAP, 1);
    record(7, 0);
    data(0, 8, 8192, 0, 8);
    record(24, 0);
    attribute(0x80, 0, 5, 19 * 1024, 100, 5);
    disk.putLong(at - 0x50 + 0x28, 20 * 1024);
    record(SECOND_PART, 24 | 1L << 48);
    attribute(0x80, 5, 20, 0, 120, 5);
    disk.put(at - 0x50 + 0x44, (byte) 1).put(at - 0x50 + 0x45, (byte) 10);
    for (int i = 0; i < RECORDS; i++) {
      int record = (TABLE + i) * CLUSTER;
      if (disk.getInt(record) != 0) {
        disk.put(
            TABLE_BITMAP * CLUSTER + i / 8,
            (byte) (disk.get(TABLE_BITMAP * CLUSTER + i / 8) | 1 << (i % 8)));
      }
    }
    System.arraycopy(bytes, TABLE * CLUSTER, bytes, MIRROR * CLUSTER, 4 * CLUSTER);
    Arrays.fill(bytes, LOG * CLUSTER, (LOG + 128) * CLUSTER, (byte) 0xff);
    byte[] bitmap = used.toByteArray();
    System.arraycopy(bitmap, 0, bytes, BITMAP * CLUSTER, bitmap.length);
    System.arraycopy(bytes, 0, bytes, CLUSTERS * CLUSTER, 512);
    listFree();
  }

  private void boot(int start) {
    byte[] name = "NTFS    ".getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(name, 0, bytes, start + 3, name.length);
    disk.putShort(start + 0x0B, (short) 512).put(start + 0x0D, (byte) 2);
    disk.put(start + 0x15, (byte) 0xF8).putLong(start + 0x28, 2L * CLUSTERS);
    disk.putLong(start + 0x30, TABLE).putLong(start + 0x38, MIRROR).put(start + 0x40, (byte) 1);
    disk.put(start + 0x44, (byte) 4).putShort(start + 510, (short) 0xAA55);
  }

  private void record(int number, long base) {
    int start = (TABLE + number) * CLUSTER;
    disk.putInt(start, 0x454C4946).putShort(start + 4, (short) 0x30).putShort(start + 6, (short) 3);
    disk.putShort(start + 0x10, (short) 1).putShort(start + 0x14, (short) 0x38);
    disk.putShort(start + 0x16, (short) 1).putInt(start + 0x1C, 1024).putLong(start + 0x20, base);
    disk.putInt(start + 0x2C, number).putShort(start + 0x30, (short) 1);
    disk.putShort(start + 510, (short) 1).putShort(start + 1022, (short) 1);
    at = start + 0x38;
    end(0);
  }

  private void header(int type, int length) {
    disk.putInt(at, type).putInt(at + 4, length);
  }

  private void data(int first, int end, int size, int cluster, int length) {
    attribute(0x80, first, end, size, cluster, length);
  }

  private void attribute(int type, int first, int end, int size, int cluster, int length) {
    header(type, 0x50);
    disk.put(at + 8, (byte) 1).putLong(at + 0x10, first).putLong(at + 0x18, end - 1);
    disk.putShort(at + 0x20, (short) 0x40).putLong(at + 0x28, (long) (end - first) * CLUSTER);
    disk.putLong(at + 0x30, size).putLong(at + 0x38, size);
    // Two bytes of length, so that 128 is not negative, and two of the cluster.
    disk.put(at + 0x40, (byte) (length > 127 ? 0x22 : 0x21)).put(at + 0x41, (byte) length);
    disk.putShort(at + (length > 127 ? 0x43 : 0x42), (short) cluster);
    used.set(cluster, cluster + length);
    end(0x50);
  }

  /** Puts the end of the attributes after one of this length. */
  private void end(int length) {
    at += length;
    disk.putInt(at, -1);
    int start = at / CLUSTER * CLUSTER;
    disk.putInt(start + 0x18, at + 8 - start);
  }

  private void listFree() {
    for (int from = used.nextClearBit(0); from < CLUSTERS; from = used.nextClearBit(from)) {
      int to = used.nextSetBit(from);
      to = to < 0 ? CLUSTERS : to;
      free.add(new FreeRange((long) from * CLUSTER, (long) (to - from) * CLUSTER));
      from = to;
    }
  }
}
