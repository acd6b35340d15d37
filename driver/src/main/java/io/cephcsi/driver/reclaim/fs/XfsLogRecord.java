package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.CRC32C;

/** The last record of an XFS log: its header and what it says. */
final class XfsLogRecord {
  static final int MAGIC = 0xFEEDBABE;

  /** Body bytes whose cycles one header block saves; larger version 2 records have more. */
  private static final int BODY_PER_HEADER = 32 << 10;

  private static final int CHECKSUM_AT = 32;

  /** Bytes of the header under the checksum, on 64-bit and on 32-bit machines. */
  private static final int[] HEADER_SIZES = {328, 324};

  private static final int EXTENDED_HEADER_SIZE = 260;
  private static final int LITTLE_ENDIAN_FORMAT = 1;
  private static final int BIG_ENDIAN_FORMAT = 2;
  private static final int LOG_CLIENT = 0xAA;
  private static final int UNMOUNT_FLAG = 0x20;
  private static final int UNMOUNT_MAGIC = 0x556E;

  private final XfsFields bytes;
  private final XfsSuperblock superblock;

  /**
   * @param bytes from the record's header up to the head of the log
   */
  XfsLogRecord(XfsFields bytes, XfsSuperblock superblock) {
    this.bytes = bytes;
    this.superblock = superblock;
  }

  /**
   * Returns the log position of the record.
   *
   * @param block where it was found, in blocks of the log
   * @throws Refusal if it is no unmount record, or damaged
   */
  long checkUnmount(long block) {
    long position = bytes.u64(16);
    Refusal.require(
        position == ((bytes.number(4) << 32) | block), "the last log record is out of place");
    Refusal.require(
        bytes.u32(8) == superblock.features().logVersion(), "a log record of another version");
    int format = bytes.u32(300);
    Refusal.require(
        format == LITTLE_ENDIAN_FORMAT || format == BIG_ENDIAN_FORMAT, "a log of another system");
    Refusal.require(Arrays.equals(bytes.uuid(304), superblock.uuid()), "the log belongs elsewhere");
    int headers = headerBlocks();
    int body = bytes.u32(12);
    int bodyBlocks = (int) ((body + (XfsLog.BLOCK - 1L)) / XfsLog.BLOCK);
    Refusal.require(
        body > 0 && (headers + (long) bodyBlocks) * XfsLog.BLOCK == bytes.length(),
        "the last log record is incomplete");
    checkChecksum(headers, body);
    checkOperation(headers * XfsLog.BLOCK);
    return position;
  }

  private int headerBlocks() {
    int size = bytes.u32(320);
    if (bytes.u32(8) == 1 || size <= BODY_PER_HEADER) {
      return 1;
    }
    return (int) ((size + (BODY_PER_HEADER - 1L)) / BODY_PER_HEADER);
  }

  /** mkfs writes 0 instead of a checksum. */
  private void checkChecksum(int headers, int body) {
    int stored = Integer.reverseBytes(bytes.u32(CHECKSUM_AT));
    if (stored == 0) {
      return;
    }
    for (int size : HEADER_SIZES) {
      CRC32C crc = new CRC32C();
      Checksums.updateWithout(crc, bytes.part(0, size).bytes(), CHECKSUM_AT);
      int used = (int) ((body + (BODY_PER_HEADER - 1L)) / BODY_PER_HEADER);
      for (int i = 1; i < Math.min(used, headers); i++) {
        crc.update(bytes.part(i * XfsLog.BLOCK, EXTENDED_HEADER_SIZE).bytes());
      }
      ByteBuffer content = bytes.part(headers * XfsLog.BLOCK, body).bytes();
      crc.update(content);
      if ((int) crc.getValue() == stored) {
        return;
      }
    }
    throw Refusal.checksum("the last log record");
  }

  private void checkOperation(int at) {
    boolean unmount =
        bytes.u32(40) == 1
            && bytes.u8(at + 8) == LOG_CLIENT
            && bytes.u8(at + 9) == UNMOUNT_FLAG
            && (bytes.u16(at + 12) == UNMOUNT_MAGIC
                || bytes.u16(at + 12) == Short.reverseBytes((short) UNMOUNT_MAGIC));
    if (!unmount) {
      throw new Refusal(
          RefusalReason.JOURNAL_NOT_EMPTY,
          "the log does not end in an unmount record (mounted, or not unmounted)");
    }
  }
}
