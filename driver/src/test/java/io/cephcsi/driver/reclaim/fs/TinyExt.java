package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** An ext2 file system of 10 MiB made by hand: two groups of 1 KiB blocks, the second one short. */
final class TinyExt {
  static final int BLOCKS = 10240;
  private static final int BLOCK = 1024;
  private static final int GROUP = 8192;
  private static final int INODES = 16;
  private static final int METADATA = 6;

  final byte[] bytes = new byte[BLOCKS * BLOCK];
  final List<FreeRange> free = new ArrayList<>();
  private final ByteBuffer image = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);

  TinyExt(Random random) {
    int total = 0;
    for (int group = 0; group < 2; group++) {
      int first = 1 + group * GROUP;
      int count = Math.min(GROUP, BLOCKS - first);
      int groupFree = 0;
      boolean used = true;
      for (int i = 0; i < 8 * BLOCK; i++) {
        used = i < METADATA || (random.nextInt(5) == 0 ? random.nextBoolean() : used);
        if (used || i >= count) {
          bytes[(first + 2) * BLOCK + i / 8] |= (byte) (1 << i % 8);
        } else {
          groupFree++;
          addFree(first + i);
        }
      }
      int descriptor = 2 * BLOCK + 32 * group;
      image.putInt(descriptor, first + 2).putInt(descriptor + 4, first + 3);
      image.putInt(descriptor + 8, first + 4).putShort(descriptor + 0xC, (short) groupFree);
      image.putShort(descriptor + 0xE, (short) 5);
      total += groupFree;
    }
    writeSuperblock(total);
  }

  private void writeSuperblock(int free) {
    ByteBuffer superblock = image.slice(1024, 1024).order(ByteOrder.LITTLE_ENDIAN);
    superblock.putInt(0, 2 * INODES).putInt(4, BLOCKS).putInt(0xC, free).putInt(0x10, 10);
    superblock.putInt(0x14, 1).putInt(0x20, GROUP).putInt(0x24, GROUP).putInt(0x28, INODES);
    superblock.putShort(0x38, (short) 0xEF53).putShort(0x3A, (short) 1).putInt(0x4C, 1);
    superblock.putInt(0x54, 11).putShort(0x58, (short) 128);
  }

  private void addFree(int block) {
    long offset = (long) block * BLOCK;
    int last = free.size() - 1;
    if (last >= 0 && free.get(last).end() == offset) {
      free.set(last, new FreeRange(free.get(last).offset(), free.get(last).length() + BLOCK));
    } else {
      free.add(new FreeRange(offset, BLOCK));
    }
  }
}
