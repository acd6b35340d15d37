package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;

/** Changes metadata of btrfs and makes its checksums right again. */
final class BtrfsForger {
  private static final long SUPERBLOCK = 65536;
  private static final int HEADER = 101;

  private final BlockReader image;
  private final Random random;
  private final BtrfsChecksum checksum;
  private final int nodeSize;
  private final List<Long> blocks;

  /**
   * @param reads what an inspection reads
   */
  BtrfsForger(BlockReader image, List<ImageFile.Extent> reads, Random random) throws IOException {
    this.image = image;
    this.random = random;
    BtrfsFields superblock = fields(new Mutant(image), SUPERBLOCK, BtrfsSuperblock.SIZE);
    this.checksum = BtrfsChecksum.of(superblock.u16(196));
    this.nodeSize = (int) superblock.u32(148);
    this.blocks = List.copyOf(findBlocks(reads));
  }

  private Set<Long> findBlocks(List<ImageFile.Extent> reads) throws IOException {
    TreeSet<Long> found = new TreeSet<>();
    for (ImageFile.Extent read : reads) {
      for (long at = read.offset(); at + nodeSize <= read.offset() + read.length(); at += 4096) {
        BtrfsFields block = fields(new Mutant(image), at, nodeSize);
        if (checksum.covers(block) && block.u32(96) > 0 && at != SUPERBLOCK) {
          found.add(at);
        }
      }
    }
    if (found.size() < 4) {
      throw new AssertionError("not all trees were read: " + found);
    }
    return found;
  }

  private static BtrfsFields fields(Mutant mutant, long at, int length) throws IOException {
    return new BtrfsFields(mutant.peek(at, length));
  }

  /** How many tree blocks there are to change. */
  int blocks() {
    return blocks.size();
  }

  /** One tree block changed, in header, keys or items. */
  Mutant forgeBlock(boolean extentTreeToo) throws IOException {
    Mutant mutant = new Mutant(image);
    long at;
    BtrfsFields block;
    do {
      at = blocks.get(random.nextInt(blocks.size()));
      block = fields(mutant, at, nodeSize);
    } while (!extentTreeToo && block.u64(88) == 2);
    ByteBuffer bytes = block.bytes();
    int items = Math.max(1, (int) block.u32(96));
    boolean leaf = block.u8(100) == 0;
    int item = HEADER + random.nextInt(items) * (leaf ? 25 : 33);
    int data = leaf ? HEADER + (int) block.u32(item + 17) : item;
    int size = leaf ? (int) block.u32(item + 21) : 33;
    switch (random.nextInt(6)) {
      case 0 -> flip(bytes, 32 + random.nextInt(HEADER - 32));
      case 1 -> flip(bytes, item + random.nextInt(leaf ? 25 : 33));
      case 2 -> shift(bytes, item);
      case 3 -> shift(bytes, item + 9);
      case 4 -> flip(bytes, size == 0 ? item : data + random.nextInt(size));
      default -> {
        if (size >= 8) {
          shift(bytes, data + random.nextInt(size / 8) * 8);
        } else {
          removeItem(bytes, item, items);
        }
      }
    }
    return seal(mutant, at, bytes);
  }

  private void flip(ByteBuffer bytes, int at) {
    bytes.put(at, (byte) (bytes.get(at) ^ (1 << random.nextInt(8))));
  }

  /** Moves a number by some sectors or blocks. */
  private void shift(ByteBuffer bytes, int at) {
    long by = (1L + random.nextInt(20)) * (random.nextBoolean() ? 4096 : nodeSize);
    bytes.putLong(at, bytes.getLong(at) + (random.nextBoolean() ? by : -by));
  }

  /** Only for items without data. */
  private static void removeItem(ByteBuffer bytes, int item, int items) {
    int rest = HEADER + items * 25 - item - 25;
    byte[] moved = new byte[rest];
    bytes.get(item + 25, moved);
    bytes.put(item, moved).putInt(96, items - 1);
  }

  private Mutant seal(Mutant mutant, long at, ByteBuffer bytes) throws IOException {
    bytes.put(0, checksum.of(bytes.slice(32, bytes.limit() - 32)));
    return mutant.patch(at, bytes);
  }

  /** All copies of the superblock changed in the same way. */
  Mutant forgeSuperblocks() throws IOException {
    Mutant mutant = new Mutant(image);
    int field = random.nextInt(4);
    int at = field == 0 ? 811 + random.nextInt(130) : 56 + random.nextInt(field == 1 ? 243 : 150);
    int bit = 1 << random.nextInt(8);
    for (long copy : BtrfsSuperblock.COPIES) {
      if (copy + BtrfsSuperblock.SIZE < image.size()) {
        ByteBuffer bytes = mutant.peek(copy, BtrfsSuperblock.SIZE).order(ByteOrder.LITTLE_ENDIAN);
        bytes.put(at, (byte) (bytes.get(at) ^ bit));
        seal(mutant, copy, bytes);
      }
    }
    return mutant;
  }

  /** One number of all superblocks changed. */
  Mutant patchSuperblocks(int at, int length, long value) throws IOException {
    Mutant mutant = new Mutant(image);
    for (long copy : BtrfsSuperblock.COPIES) {
      if (copy + BtrfsSuperblock.SIZE < image.size()) {
        patchSuperblock(mutant, copy, at, length, value);
      }
    }
    return mutant;
  }

  /** One number of one superblock changed. */
  Mutant patchSuperblock(Mutant mutant, long copy, int at, int length, long value)
      throws IOException {
    ByteBuffer bytes = mutant.peek(copy, BtrfsSuperblock.SIZE).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < length; i++) {
      bytes.put(at + i, (byte) (value >>> (8 * i)));
    }
    return seal(mutant, copy, bytes);
  }

  /** The first item of the device tree, error counters, made one of a device replace. */
  Mutant forgeReplace(int state) throws IOException {
    Mutant mutant = new Mutant(image);
    for (long at : blocks) {
      BtrfsFields block = fields(mutant, at, nodeSize);
      if (block.u64(88) == 4 && block.key(HEADER).type() == BtrfsKey.PERSISTENT_ITEM) {
        ByteBuffer bytes = block.bytes();
        bytes.put(HEADER + 8, (byte) BtrfsKey.DEV_REPLACE);
        bytes.putLong(HEADER + (int) block.u32(HEADER + 17) + 32, state);
        return seal(mutant, at, bytes);
      }
    }
    throw new AssertionError("no error counters in the device tree");
  }
}
