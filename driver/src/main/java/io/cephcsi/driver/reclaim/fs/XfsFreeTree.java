package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * One of the two B+trees that hold the free extents of an allocation group, by block or by size.
 *
 * <p>Walked level by level, so that the blocks of a level are read together, and each level is
 * compared with the keys of the one above.
 */
final class XfsFreeTree {
  /** Receives the extents of a tree in its order, in blocks of the group. */
  interface ExtentVisitor {
    void visit(long start, long length);
  }

  /** Bytes of tree blocks held at a time. */
  private static final int WINDOW = 1 << 20;

  private static final int FIRST_CHILDREN = 64;

  private static final int NONE = -1;
  private static final int EXTENT = 8;
  private static final int POINTER = 4;
  private static final int CHECKSUM_AT = 52;

  private final XfsVolume volume;
  private final int group;
  private final boolean bySize;
  private final int magic;
  private final int header;
  private final boolean v5;

  private int[] blocks;
  private int[] leaves;
  private long[] leafKeys;
  private long lastKey;
  private boolean hasLast;

  private XfsFreeTree(XfsVolume volume, int group, int root, boolean bySize) {
    this.volume = volume;
    this.group = group;
    this.bySize = bySize;
    this.v5 = volume.superblock.features().v5();
    this.header = v5 ? 56 : 16;
    this.magic = magic(v5, bySize);
    this.blocks = new int[] {root};
    this.leaves = blocks;
    this.leafKeys = new long[0];
  }

  private static int magic(boolean v5, boolean bySize) {
    if (v5) {
      return bySize ? 0x41423343 : 0x41423342;
    }
    return bySize ? 0x41425443 : 0x41425442;
  }

  /** Reads all levels of a tree but its leaves. */
  static XfsFreeTree open(XfsVolume volume, int group, int root, int levels, boolean bySize)
      throws IOException {
    XfsFreeTree tree = new XfsFreeTree(volume, group, root, bySize);
    for (int level = levels - 1; level > 0; level--) {
      tree.descend(level);
    }
    return tree;
  }

  /** All blocks of the tree, numbers within the group. */
  int[] blocks() {
    return blocks;
  }

  /** Reads the leaves, checks them, and visits the extents in the order of the tree. */
  void forEach(ExtentVisitor visitor) throws IOException {
    forEachBlock(
        0,
        (index, block) -> {
          int count = block.u16(6);
          require(count > 0 || leaves.length == 1, "an empty leaf");
          for (int i = 0; i < count; i++) {
            long key = block.u64(header + i * EXTENT);
            checkKey(index, i, key);
            visitor.visit(key >>> 32, key & 0xffffffffL);
          }
        });
  }

  /** Replaces the level held in {@code leaves} by its children. */
  private void descend(int level) throws IOException {
    int most = (volume.superblock.blockSize - header) / (EXTENT + POINTER);
    Children children = new Children();
    forEachBlock(
        level,
        (index, block) -> {
          int count = block.u16(6);
          require(count > 0, "an empty node");
          for (int i = 0; i < count; i++) {
            long key = block.u64(header + i * EXTENT);
            checkKey(index, i, key);
            children.add(block.u32(header + most * EXTENT + i * POINTER), key);
          }
        });
    children.replaceLeaves();
    hasLast = false;
  }

  /** Grows with what was read: a node that promises many children costs nothing yet. */
  private final class Children {
    private final InspectionMemory memory = volume.device.memory();
    private int[] pointers = new int[FIRST_CHILDREN];
    private long[] keys = new long[FIRST_CHILDREN];
    private int count;

    void add(int pointer, long key) {
      if (count == pointers.length) {
        memory.take(2L * count * (Integer.BYTES + Long.BYTES));
        pointers = Arrays.copyOf(pointers, 2 * count);
        keys = Arrays.copyOf(keys, 2 * count);
        memory.give((long) count * (Integer.BYTES + Long.BYTES));
      }
      pointers[count] = pointer;
      keys[count++] = key;
    }

    void replaceLeaves() {
      int known = blocks.length;
      memory.take((2L * count + known) * Integer.BYTES + (long) count * Long.BYTES);
      leaves = Arrays.copyOf(pointers, count);
      leafKeys = Arrays.copyOf(keys, count);
      blocks = Arrays.copyOf(blocks, Math.addExact(known, count));
      System.arraycopy(leaves, 0, blocks, known, count);
      memory.give((long) pointers.length * (Integer.BYTES + Long.BYTES));
    }
  }

  private interface BlockVisitor {
    void visit(int index, XfsFields block);
  }

  private void forEachBlock(int level, BlockVisitor visitor) throws IOException {
    int blockSize = volume.superblock.blockSize;
    int window = WINDOW / blockSize;
    for (int from = 0; from < leaves.length; from += window) {
      int to = Math.min(from + window, leaves.length);
      long[] offsets = new long[to - from];
      for (int i = from; i < to; i++) {
        require(leaves[i] > 0 && leaves[i] < volume.superblock.length(group), "a bad pointer");
        offsets[i - from] = volume.offset(group, leaves[i]);
      }
      Arrays.sort(offsets);
      ByteBuffer[] read = volume.device.readBlocks(offsets, blockSize, ByteOrder.BIG_ENDIAN);
      for (int i = from; i < to; i++) {
        int at = Arrays.binarySearch(offsets, volume.offset(group, leaves[i]));
        XfsFields block = new XfsFields(read[at]);
        checkBlock(block, i, level);
        visitor.visit(i, block);
      }
    }
  }

  private void checkBlock(XfsFields block, int index, int level) {
    require(block.u32(0) == magic && block.u16(4) == level, "a block of another kind");
    int entry = level > 0 ? EXTENT + POINTER : EXTENT;
    require(block.u16(6) <= (block.length() - header) / entry, "an overfull block");
    require(block.u32(8) == (index == 0 ? NONE : leaves[index - 1]), "a bad left sibling");
    int right = index + 1 == leaves.length ? NONE : leaves[index + 1];
    require(block.u32(12) == right, "a bad right sibling");
    if (v5) {
      if (!block.checksumAt(CHECKSUM_AT)) {
        throw Refusal.checksum("a free-space tree of allocation group " + group);
      }
      require(
          block.u64(16) == volume.offset(group, leaves[index]) / 512
              && block.u32(48) == group
              && volume.superblock.owns(block.uuid(32)),
          "a block that belongs elsewhere");
      volume.noteChange(block.u64(24));
    }
  }

  /** Keys ascend, and the first of a block is the one its parent holds. */
  private void checkKey(int index, int position, long key) {
    require(!hasLast || before(lastKey, key), "entries out of order");
    lastKey = key;
    hasLast = true;
    if (position == 0 && leafKeys.length > 0) {
      long above = leafKeys[index];
      require(bySize ? above == key : above >>> 32 == key >>> 32, "a key unlike its block");
    }
  }

  /** A key is start and length in the upper and lower half, whatever it is ordered by. */
  private boolean before(long a, long b) {
    return bySize
        ? Long.compareUnsigned(Long.rotateLeft(a, 32), Long.rotateLeft(b, 32)) < 0
        : Long.compareUnsigned(a >>> 32, b >>> 32) < 0;
  }

  private void require(boolean holds, String otherwise) {
    if (!holds) {
      throw Refusal.inconsistent(
          "the free-space tree by "
              + (bySize ? "size" : "block")
              + " of allocation group "
              + group
              + " has "
              + otherwise);
    }
  }
}
