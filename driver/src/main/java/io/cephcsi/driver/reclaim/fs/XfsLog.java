package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Proves that the internal log of an XFS file system ends in an unmount record.
 *
 * <p>The log is a ring of 512-byte blocks. Each carries the number of the round (cycle) in which it
 * was written: in its first word, or in the second where the first is the magic number of a record
 * header. From block 0 up to the head all blocks are of one cycle, from there to the end of the one
 * before (0 in a new log). The head is searched, a window of two MiB on either side is checked
 * block by block (more than the kernel ever has in flight), and the record that ends at the head
 * must be an unmount record.
 */
final class XfsLog {
  static final int BLOCK = 512;

  /** Blocks on either side of the head that are looked at. */
  private static final int WINDOW = (2 << 20) / BLOCK;

  /** Blocks that are read in one piece. */
  private static final int PIECE = (1 << 20) / BLOCK;

  /** Largest record: 256 KiB of body and 8 headers, in blocks. */
  private static final int LARGEST_RECORD = (256 << 10) / BLOCK + 8;

  /**
   * xfsprogs, when it resets a log, writes an unmount record at block 0, leaves zeros up to here,
   * and fills the rest with records of the cycle before.
   */
  private static final int RESET_GAP_END = (256 << 10) / BLOCK;

  /** Into how many parts a round of the search divides what is left. */
  private static final int PARTS = 32;

  private final XfsVolume volume;
  private final long start;
  private final long length;

  XfsLog(XfsVolume volume) {
    this.volume = volume;
    XfsSuperblock superblock = volume.superblock;
    this.start = volume.offset(superblock.logGroup(), superblock.logBlock());
    this.length = (long) superblock.logBlocks() * superblock.blockSize / BLOCK;
  }

  /**
   * Returns the position of the unmount record, cycle in the upper half, block in the lower.
   *
   * @throws Refusal if there is something to replay, or the log is damaged
   */
  long provePositionOfUnmount() throws IOException {
    Refusal.require(length >= PARTS && length <= Integer.MAX_VALUE, "bad size of the log");
    int[] ends = cycles(new long[] {0, length - 1});
    Refusal.require(ends[0] > 0, "the log is empty: it has no unmount record");
    if (ends[0] == ends[1]) {
      // The last record ended exactly with the log: the next would start a new cycle at 0.
      return check(0, ends[0] + 1);
    }
    Refusal.require(ends[1] == ends[0] - 1, "the cycles of the log do not fit");
    return check(findHead(ends[0]), ends[0]);
  }

  /** The first block whose cycle is not {@code cycle}; block 0 has it, the last has not. */
  private long findHead(int cycle) throws IOException {
    long low = 0;
    long high = length - 1;
    while (high - low > PIECE) {
      long[] probes = new long[PARTS - 1];
      for (int i = 0; i < probes.length; i++) {
        probes[i] = low + (high - low) * (i + 1) / PARTS;
      }
      int[] found = cycles(probes);
      int older = 0;
      while (older < probes.length && found[older] == cycle) {
        older++;
      }
      for (int i = older; i < probes.length; i++) {
        Refusal.require(
            found[i] == cycle - 1 || inResetGap(probes[i], found[i]),
            "the cycles of the log are not in order");
      }
      high = older < probes.length ? probes[older] : high;
      low = older > 0 ? probes[older - 1] : low;
    }
    ByteBuffer part = read(low, (int) (high - low));
    long head = low;
    while (head < high && cycle(part, (int) (head - low)) == cycle) {
      head++;
    }
    return head;
  }

  /** Checks the neighbourhood of the head and the record that ends there. */
  private long check(long head, int cycle) throws IOException {
    int after = (int) Math.min(WINDOW, length / 2);
    int before = (int) Math.min(WINDOW + LARGEST_RECORD, length - after);
    long from = Math.floorMod(head - before, length);
    boolean gap = false;
    int record = -1;
    for (int at = 0; at < before + after; at += PIECE) {
      int blocks = Math.min(PIECE, before + after - at);
      ByteBuffer piece = readRing((from + at) % length, blocks);
      for (int i = 0; i < blocks; i++) {
        long position = (from + at + i) % length;
        int found = cycle(piece, i);
        boolean older = position >= head;
        boolean expected = found == (older ? cycle - 1 : cycle);
        gap |= !expected;
        Refusal.require(
            expected || (older && inResetGap(position, found)),
            "the cycles around the end of the log are not in order");
        if (at + i < before && piece.getInt(i * BLOCK) == XfsLogRecord.MAGIC) {
          record = at + i;
        }
      }
    }
    Refusal.require(record >= 0, "the log has no record before its end");
    long position = (from + record) % length;
    Refusal.require(position == 0 || !gap, "the log has a hole");
    ByteBuffer bytes = readRing(position, before - record);
    return new XfsLogRecord(new XfsFields(bytes), volume.superblock).checkUnmount(position);
  }

  private static boolean inResetGap(long position, int cycle) {
    return cycle == 0 && position < RESET_GAP_END;
  }

  private int[] cycles(long[] positions) throws IOException {
    long[] offsets = new long[positions.length];
    for (int i = 0; i < offsets.length; i++) {
      offsets[i] = start + positions[i] * BLOCK;
    }
    ByteBuffer[] blocks = volume.device.readBlocks(offsets, BLOCK, ByteOrder.BIG_ENDIAN);
    int[] cycles = new int[positions.length];
    for (int i = 0; i < cycles.length; i++) {
      cycles[i] = cycle(blocks[i], 0);
    }
    return cycles;
  }

  private static int cycle(ByteBuffer bytes, int block) {
    int first = bytes.getInt(block * BLOCK);
    return first == XfsLogRecord.MAGIC ? bytes.getInt(block * BLOCK + 4) : first;
  }

  private ByteBuffer readRing(long from, int blocks) throws IOException {
    int untilEnd = (int) Math.min(blocks, length - from);
    ByteBuffer first = read(from, untilEnd);
    if (untilEnd == blocks) {
      return first;
    }
    ByteBuffer whole = ByteBuffer.allocate(blocks * BLOCK);
    whole.put(first).put(read(0, blocks - untilEnd));
    return whole.flip();
  }

  private ByteBuffer read(long from, int blocks) throws IOException {
    return volume.device.read(start + from * BLOCK, blocks * BLOCK, ByteOrder.BIG_ENDIAN);
  }
}
