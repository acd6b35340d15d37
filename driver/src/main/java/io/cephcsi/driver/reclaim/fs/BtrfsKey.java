package io.cephcsi.driver.reclaim.fs;

/**
 * The key of an item in a tree of btrfs, ordered by its parts as unsigned numbers.
 *
 * @param objectId what the item is about: an address, a tree or an inode
 * @param type kind of item, 0 to 255
 * @param offset means something else for each type, often a length
 */
record BtrfsKey(long objectId, int type, long offset) implements Comparable<BtrfsKey> {
  static final int SIZE = 17;

  static final int ROOT_ITEM = 132;
  static final int EXTENT_ITEM = 168;
  static final int METADATA_ITEM = 169;
  static final int TREE_BLOCK_REF = 176;
  static final int EXTENT_DATA_REF = 178;
  static final int SHARED_BLOCK_REF = 182;
  static final int SHARED_DATA_REF = 184;
  static final int BLOCK_GROUP_ITEM = 192;
  static final int FREE_SPACE_INFO = 198;
  static final int FREE_SPACE_EXTENT = 199;
  static final int FREE_SPACE_BITMAP = 200;
  static final int DEV_EXTENT = 204;
  static final int DEV_ITEM = 216;
  static final int CHUNK_ITEM = 228;
  static final int TEMPORARY_ITEM = 248;
  static final int PERSISTENT_ITEM = 249;
  static final int DEV_REPLACE = 250;

  /** The number of the chunk tree's items, of block groups and device extents. */
  static final long FIRST_CHUNK_TREE = 256;

  @Override
  public int compareTo(BtrfsKey other) {
    int order = Long.compareUnsigned(objectId, other.objectId);
    if (order == 0) {
      order = Integer.compare(type, other.type);
    }
    return order != 0 ? order : Long.compareUnsigned(offset, other.offset);
  }
}
