package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;

/**
 * An XFS file system of 32 MiB made by hand: two allocation groups, free-space trees of two levels
 * in the first, a log of 4096 blocks of 512 bytes in the second.
 */
final class TinyXfs {
  static final int LOG_LENGTH = 4096;
  private static final int BLOCK = 4096;
  private static final int GROUP = 4096;
  private static final int SECTOR = 512;
  private static final int LOG = 200;
  private static final int FREE_LIST = 4;
  private static final int PER_LEAF = 400;
  private static final byte[] UUID =
      "0123456789abcdef".getBytes(java.nio.charset.StandardCharsets.US_ASCII);

  final byte[] bytes = new byte[2 * GROUP * BLOCK];
  final List<FreeRange> free = new ArrayList<>();
  private final ByteBuffer image = ByteBuffer.wrap(bytes);
  private final boolean v5;
  private int nextTreeBlock;

  /** An extent in blocks of its group. */
  private record Extent(int start, int length) {}

  TinyXfs(Random random, boolean v5) {
    this.v5 = v5;
    int counted = group(0, 40, random, 1000) + group(1, LOG + 512, random, 100);
    writeSuperblock(counted);
    writeLog(0, 1, 1);
  }

  private int group(int group, int from, Random random, int extents) {
    List<Extent> found = new ArrayList<>();
    int at = from;
    for (int i = 0; i < extents && at + 8 < GROUP; i++) {
      at += 1 + random.nextInt(3);
      int length = 1 + random.nextInt(2);
      found.add(new Extent(at, length));
      at += length;
      free.add(new FreeRange(((long) group * GROUP + at - length) * BLOCK, (long) length * BLOCK));
    }
    nextTreeBlock = 8;
    int levels = tree(group, 1, v5 ? 0x41423342 : 0x41425442, found);
    List<Extent> bySize = new ArrayList<>(found);
    bySize.sort(Comparator.comparingInt(Extent::length).thenComparingInt(Extent::start));
    tree(group, 2, v5 ? 0x41423343 : 0x41425443, bySize);
    int sum = found.stream().mapToInt(Extent::length).sum();
    int longest = found.stream().mapToInt(Extent::length).max().orElse(0);
    writeHeaders(group, levels, sum, longest, nextTreeBlock - 8);
    return sum + FREE_LIST + nextTreeBlock - 8;
  }

  /** Writes a tree of one or two levels and answers how many. */
  private int tree(int group, int root, int magic, List<Extent> extents) {
    if (extents.size() <= PER_LEAF) {
      leaf(group, root, magic, extents, -1, -1);
      return 1;
    }
    int leaves = (extents.size() + PER_LEAF - 1) / PER_LEAF;
    int first = nextTreeBlock;
    nextTreeBlock += leaves;
    ByteBuffer node = block(group, root);
    int header = header(node, magic, 1, leaves, -1, -1);
    int most = (BLOCK - header) / 12;
    for (int i = 0; i < leaves; i++) {
      List<Extent> part =
          extents.subList(i * PER_LEAF, Math.min((i + 1) * PER_LEAF, extents.size()));
      leaf(
          group,
          first + i,
          magic,
          part,
          i == 0 ? -1 : first + i - 1,
          i + 1 == leaves ? -1 : first + i + 1);
      node.putInt(header + 8 * i, part.get(0).start);
      node.putInt(header + 8 * i + 4, part.get(0).length);
      node.putInt(header + 8 * most + 4 * i, first + i);
    }
    seal(node, group, root);
    return 2;
  }

  private void leaf(int group, int at, int magic, List<Extent> extents, int left, int right) {
    ByteBuffer leaf = block(group, at);
    int header = header(leaf, magic, 0, extents.size(), left, right);
    for (int i = 0; i < extents.size(); i++) {
      leaf.putInt(header + 8 * i, extents.get(i).start);
      leaf.putInt(header + 8 * i + 4, extents.get(i).length);
    }
    seal(leaf, group, at);
  }

  private int header(ByteBuffer block, int magic, int level, int count, int left, int right) {
    block.putInt(0, magic).putShort(4, (short) level).putShort(6, (short) count);
    block.putInt(8, left).putInt(12, right);
    return v5 ? 56 : 16;
  }

  private void seal(ByteBuffer block, int group, int at) {
    if (v5) {
      block.putLong(16, ((long) group * GROUP + at) * BLOCK / 512).put(32, UUID);
      checksum(block.putInt(48, group), 52);
    }
  }

  private void writeHeaders(int group, int levels, int sum, int longest, int treeBlocks) {
    ByteBuffer agf = sector(group, 1, 0x58414746).putInt(4, 1).putInt(8, group);
    agf.putInt(12, GROUP).putInt(16, 1).putInt(20, 2).putInt(28, levels).putInt(32, levels);
    agf.putInt(40, 1).putInt(44, FREE_LIST).putInt(48, FREE_LIST);
    agf.putInt(52, sum).putInt(56, longest).putInt(60, treeBlocks);
    ByteBuffer agi = sector(group, 2, 0x58414749).putInt(4, 1).putInt(8, group);
    agi.putInt(12, GROUP).putInt(16, 64).putInt(20, 3).putInt(24, 1).putInt(28, 60);
    for (int i = 0; i < 64; i++) {
      agi.putInt(40 + 4 * i, -1);
    }
    ByteBuffer agfl = sector(group, 3, v5 ? 0x5841464C : 0);
    for (int i = 0; i < FREE_LIST; i++) {
      agfl.putInt((v5 ? 36 : 0) + 4 * (i + 1), 4 + i);
    }
    if (v5) {
      checksum(agf.put(64, UUID), 216);
      checksum(agi.put(296, UUID), 312);
      checksum(agfl.putInt(4, group).put(8, UUID), 32);
    }
  }

  private void writeSuperblock(int counted) {
    ByteBuffer superblock = sector(0, 0, 0x58465342).putInt(4, BLOCK).putLong(8, 2 * GROUP);
    superblock.put(32, UUID).putLong(48, (1 << 12) + LOG).putInt(84, GROUP).putInt(88, 2);
    superblock.putInt(96, 512).putShort(100, (short) (0xB4A0 | (v5 ? 5 : 4)));
    superblock.putShort(102, (short) SECTOR).putShort(104, (short) 512).putShort(106, (short) 8);
    superblock.put(120, new byte[] {12, 9, 9, 3, 12});
    superblock.putLong(128, 128).putLong(136, 120).putLong(144, counted);
    superblock.putInt(200, v5 ? 0x18A : 0x8A).putInt(204, v5 ? 0x18A : 0x8A);
    if (v5) {
      checksum(superblock, 224);
    }
  }

  /**
   * Fills the log: an unmount record of {@code body} blocks at a position, in a cycle; what lies
   * before it is of that cycle, what comes after of the one before.
   */
  void writeLog(int position, int cycle, int body) {
    for (int i = 0; i < LOG_LENGTH; i++) {
      log(i).put(0, new byte[512]).putInt(0, i < position ? cycle : cycle - 1);
    }
    for (int i = 0; i <= body; i++) {
      boolean wrapped = position + i >= LOG_LENGTH;
      log((position + i) % LOG_LENGTH).putInt(0, wrapped ? cycle + 1 : cycle);
    }
    for (int i = (position + body + 1) % LOG_LENGTH;
        position + body >= LOG_LENGTH && i < position;
        i++) {
      log(i).putInt(0, cycle);
    }
    ByteBuffer header = log(position).putInt(0, 0xFEEDBABE).putInt(4, cycle).putInt(8, 2);
    header.putInt(12, body * 512).putLong(16, (long) cycle << 32 | position).putInt(40, 1);
    header.putInt(300, 1).put(304, UUID).putInt(320, 32768);
    ByteBuffer operation = log((position + 1) % LOG_LENGTH).putInt(4, 8);
    operation.put(8, (byte) 0xAA).put(9, (byte) 0x20).putShort(12, (short) 0x6E55);
  }

  /** A block of the log. */
  ByteBuffer log(int position) {
    return image.slice((GROUP + LOG) * BLOCK + position * 512, 512);
  }

  private ByteBuffer block(int group, int at) {
    return image.slice((group * GROUP + at) * BLOCK, BLOCK);
  }

  private ByteBuffer sector(int group, int which, int magic) {
    return image.slice(group * GROUP * BLOCK + which * SECTOR, SECTOR).putInt(0, magic);
  }

  private static void checksum(ByteBuffer bytes, int field) {
    int crc = Checksums.crc32cWithout(bytes, field);
    bytes.order(ByteOrder.LITTLE_ENDIAN).putInt(field, crc);
  }
}
