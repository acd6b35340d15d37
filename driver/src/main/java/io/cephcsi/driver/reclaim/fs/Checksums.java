package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;

/**
 * CRC-32C as ext4 and XFS use it, CRC-32 as LVM2 does, and the CRC-16 of ext4's older group
 * descriptor checksum.
 */
final class Checksums {
  private static final int CRC32_POLYNOMIAL = 0xEDB88320;
  private static final int CRC32C_POLYNOMIAL = 0x82F63B78;
  private static final int CRC16_POLYNOMIAL = 0xA001;
  private static final int[] CRC16_TABLE = crc16Table();
  private static final byte[] ZEROS = new byte[4];

  private Checksums() {}

  /**
   * CRC-32C over the bytes with the four bytes at {@code field} taken as zero, finally inverted.
   */
  static int crc32cWithout(ByteBuffer bytes, int field) {
    CRC32C crc = new CRC32C();
    updateWithout(crc, bytes, field);
    return (int) crc.getValue();
  }

  /** Feeds the bytes with the four bytes at {@code field} taken as zero. */
  static void updateWithout(CRC32C crc, ByteBuffer bytes, int field) {
    crc.update(bytes.slice(0, field));
    crc.update(ZEROS, 0, 4);
    crc.update(bytes.slice(field + 4, bytes.limit() - field - 4));
  }

  /** A running CRC-32C that starts from a register value rather than from all ones. */
  static CRC32C crc32cFrom(int register) {
    CRC32C crc = new CRC32C();
    start(crc, register, CRC32C_POLYNOMIAL);
    return crc;
  }

  /**
   * CRC-32 over buffers one after the other, from a register value rather than from all ones, and
   * not inverted at the end.
   */
  static int crc32(int register, ByteBuffer... parts) {
    CRC32 crc = new CRC32();
    start(crc, register, CRC32_POLYNOMIAL);
    for (ByteBuffer part : parts) {
      crc.update(part.duplicate());
    }
    return ~(int) crc.getValue();
  }

  private static void start(Checksum crc, int register, int polynomial) {
    int prefix = ~prefixFor(register, polynomial);
    crc.update(prefix & 0xff);
    crc.update(prefix >>> 8 & 0xff);
    crc.update(prefix >>> 16 & 0xff);
    crc.update(prefix >>> 24);
  }

  /** The register of a running CRC-32C: what ext4 stores, without the final inversion. */
  static int register(CRC32C crc) {
    return ~(int) crc.getValue();
  }

  /** Steps the register back over 32 bits: the value that, fed as zeros, would give it. */
  private static int prefixFor(int register, int polynomial) {
    int value = register;
    for (int i = 0; i < 32; i++) {
      value = value < 0 ? ((value ^ polynomial) << 1) | 1 : value << 1;
    }
    return value;
  }

  /** CRC-16 (polynomial 0x8005, reflected), continued from {@code crc}. */
  static int crc16(int crc, ByteBuffer bytes) {
    int value = crc;
    for (int i = bytes.position(); i < bytes.limit(); i++) {
      value = (value >>> 8) ^ CRC16_TABLE[(value ^ bytes.get(i)) & 0xff];
    }
    return value;
  }

  private static int[] crc16Table() {
    int[] table = new int[256];
    for (int i = 0; i < table.length; i++) {
      int value = i;
      for (int bit = 0; bit < 8; bit++) {
        value = (value & 1) == 0 ? value >>> 1 : (value >>> 1) ^ CRC16_POLYNOMIAL;
      }
      table[i] = value;
    }
    return table;
  }
}
