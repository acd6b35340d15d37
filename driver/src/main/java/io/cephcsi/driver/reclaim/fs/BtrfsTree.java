package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Visits all items of a tree in the order of their keys, with each block checked as it is read.
 *
 * <p>Some children of a node are read together; memory is bound by the depth of the tree, not by
 * its size. The first key of each block is the one that its parent holds, and keys ascend over all
 * leaves: so no block is visited twice, whatever the pointers say.
 */
final class BtrfsTree {
  /** Receives the items of a tree. */
  interface ItemVisitor {
    void visit(BtrfsKey key, BtrfsFields item);
  }

  /**
   * Where a tree starts.
   *
   * @param id the tree's number, which all its blocks carry
   * @param address logical
   * @param level of the root; 0 is a leaf
   * @param generation of the root
   */
  record Root(long id, long address, int level, long generation) {}

  /** Bytes of leaves, and of nodes of a level, held at a time. */
  private static final int LEAVES = 1 << 20;

  private static final int NODES = 256 << 10;

  private static final int HEADER = 101;
  private static final int ITEM = 25;
  private static final int POINTER = 33;
  private static final long WRITTEN_MIXED_BACKREF = 1L << 56 | 1;

  private final BtrfsVolume volume;
  private final Root root;
  private final ItemVisitor visitor;
  private @Nullable BtrfsKey last;

  private BtrfsTree(BtrfsVolume volume, Root root, ItemVisitor visitor) {
    this.volume = volume;
    this.root = root;
    this.visitor = visitor;
  }

  /** Reads a whole tree. */
  static void walk(BtrfsVolume volume, Root root, ItemVisitor visitor) throws IOException {
    BtrfsTree tree = new BtrfsTree(volume, root, visitor);
    tree.require(root.level < BtrfsSuperblock.LEVELS, "too many levels");
    tree.require(
        Long.compareUnsigned(root.generation, volume.superblock.generation) <= 0,
        "a root newer than the superblock");
    tree.descend(new Pointers(root), root.level);
  }

  /** The blocks of one level below one node. */
  private static final class Pointers {
    private final int count;
    private final long[] addresses;
    private final long[] generations;
    private final @Nullable BtrfsKey[] keys;

    Pointers(Root root) {
      this.count = 1;
      this.addresses = new long[] {root.address};
      this.generations = new long[] {root.generation};
      this.keys = new BtrfsKey[1];
    }

    Pointers(BtrfsFields node, int count) {
      this.count = count;
      this.addresses = new long[count];
      this.generations = new long[count];
      this.keys = new BtrfsKey[count];
      for (int i = 0; i < count; i++) {
        int at = HEADER + i * POINTER;
        keys[i] = node.key(at);
        addresses[i] = node.u64(at + BtrfsKey.SIZE);
        generations[i] = node.u64(at + BtrfsKey.SIZE + 8);
      }
    }
  }

  private void descend(Pointers pointers, int level) throws IOException {
    int nodeSize = volume.superblock.nodeSize;
    int window = (level == 0 ? LEAVES : NODES) / nodeSize;
    for (int from = 0; from < pointers.count; from += window) {
      int to = Math.min(from + window, pointers.count);
      long[] offsets = new long[to - from];
      for (int i = from; i < to; i++) {
        offsets[i - from] = volume.noteBlock(pointers.addresses[i]);
      }
      long[] sorted = offsets.clone();
      Arrays.sort(sorted);
      ByteBuffer[] read = volume.device.readBlocks(sorted, nodeSize, ByteOrder.LITTLE_ENDIAN);
      for (int i = from; i < to; i++) {
        int at = Arrays.binarySearch(sorted, offsets[i - from]);
        visit(new BtrfsFields(read[at]), pointers, i, level);
      }
    }
  }

  private void visit(BtrfsFields block, Pointers pointers, int index, int level)
      throws IOException {
    checkHeader(block, pointers.addresses[index], pointers.generations[index], level);
    long items = block.u32(96);
    boolean top = level == root.level;
    require(items > 0 || (top && level == 0), "an empty block");
    require(
        items <= (block.length() - HEADER) / (level == 0 ? ITEM : POINTER), "an overfull block");
    BtrfsKey above = pointers.keys[index];
    require(above == null || block.key(HEADER).equals(above), "a key unlike its block");
    if (level == 0) {
      visitItems(block, (int) items);
    } else {
      descend(new Pointers(block, (int) items), level - 1);
    }
  }

  private void checkHeader(BtrfsFields block, long address, long generation, int level) {
    if (!volume.superblock.checksum.covers(block)) {
      throw Refusal.checksum("a block of tree " + root.id);
    }
    require(
        block.u64(48) == address
            && block.uuid(32).equals(volume.superblock.metadataUuid())
            && volume.isChunkTree(block.uuid(64)),
        "a block that belongs elsewhere");
    require(block.u64(56) == WRITTEN_MIXED_BACKREF, "a block with unknown flags");
    require(
        block.u64(80) == generation
            && Long.compareUnsigned(generation, volume.superblock.generation) <= 0,
        "a block of another generation");
    require(block.u64(88) == root.id && block.u8(100) == level, "a block of another tree or level");
  }

  /** Items lie one below the other from the end of the block, without gaps. */
  private void visitItems(BtrfsFields leaf, int items) {
    long end = (long) leaf.length() - HEADER;
    for (int i = 0; i < items; i++) {
      int at = HEADER + i * ITEM;
      BtrfsKey key = leaf.key(at);
      long offset = leaf.u32(at + BtrfsKey.SIZE);
      long size = leaf.u32(at + BtrfsKey.SIZE + 4);
      require(offset >= (long) items * ITEM && offset + size == end, "an item outside of its leaf");
      require(last == null || last.compareTo(key) < 0, "keys out of order");
      end = offset;
      last = key;
      visitor.visit(key, leaf.part(HEADER + (int) offset, (int) size));
    }
  }

  private void require(boolean holds, String otherwise) {
    if (!holds) {
      throw Refusal.inconsistent("tree " + Long.toUnsignedString(root.id) + " has " + otherwise);
    }
  }
}
