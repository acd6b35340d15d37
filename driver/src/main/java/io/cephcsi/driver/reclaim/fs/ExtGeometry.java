package io.cephcsi.driver.reclaim.fs;

/** Where things lie in an ext file system: sizes that were checked, and what follows from them. */
final class ExtGeometry {
  /** Bound of the group descriptor table in bytes; enough for 128 TiB of 4 KiB blocks. */
  private static final long LARGEST_TABLE = 64L << 20;

  /** Block numbers must leave 24 bits of a long for lengths, see {@link ExtMetadataMap}. */
  private static final long LARGEST_BLOCK_COUNT = 1L << 39;

  /** mke2fs makes no smaller groups. */
  private static final int SMALLEST_GROUP = 256;

  private static final int LARGEST_LOG_BLOCK_SIZE = 6;
  private static final int LARGEST_LOG_CLUSTER_SIZE = 20;

  private final ExtSuperblock superblock;
  private final ExtFeatures features;
  final int blockSize;

  /** Blocks in a cluster; 1 without bigalloc. */
  final int ratio;

  final long blocks;
  final int firstDataBlock;
  final int blocksPerGroup;
  final int groups;
  final int descriptorSize;
  final int inodeTableBlocks;

  /** Refuses sizes that contradict each other or the device's size in bytes. */
  ExtGeometry(ExtSuperblock superblock, long deviceSize) {
    this.superblock = superblock;
    this.features = superblock.features();
    int logBlock = superblock.logBlockSize();
    Refusal.require(logBlock >= 0 && logBlock <= LARGEST_LOG_BLOCK_SIZE, "bad block size");
    this.blockSize = 1024 << logBlock;
    this.ratio = ratio(logBlock);
    this.blocks = superblock.blocks();
    this.firstDataBlock = superblock.firstDataBlock();
    Refusal.require(
        firstDataBlock == (blockSize == 1024 && ratio == 1 ? 1 : 0), "bad first data block");
    checkTotals(deviceSize);
    this.blocksPerGroup = superblock.blocksPerGroup();
    checkGroupSize();
    long count = (blocks - firstDataBlock + blocksPerGroup - 1) / blocksPerGroup;
    this.descriptorSize = descriptorSize();
    if (count * descriptorSize > LARGEST_TABLE) {
      throw Refusal.unsupported("too many block groups (" + count + ")");
    }
    this.groups = (int) count;
    this.inodeTableBlocks = inodeTableBlocks();
    if (features.incompat(ExtFeatures.INCOMPAT_META_BG)) {
      int first = superblock.firstMetaGroup();
      Refusal.require(first >= 0 && first <= descriptorBlocks(), "bad first meta group");
    }
  }

  private int ratio(int logBlock) {
    boolean bigalloc = features.roCompat(ExtFeatures.RO_COMPAT_BIGALLOC);
    int shift = superblock.logClusterSize() - logBlock;
    Refusal.require(
        superblock.logClusterSize() <= LARGEST_LOG_CLUSTER_SIZE
            && (bigalloc ? shift >= 0 : shift == 0),
        "bad cluster size");
    return 1 << shift;
  }

  private void checkTotals(long deviceSize) {
    if (!features.incompat(ExtFeatures.INCOMPAT_64BIT)) {
      Refusal.require(!superblock.hasUpperHalves(), "64-bit block counts without 64bit");
    }
    Refusal.require(
        blocks > firstDataBlock && blocks < LARGEST_BLOCK_COUNT, "bad number of blocks");
    if (blocks > deviceSize / blockSize) {
      throw new Refusal(
          RefusalReason.TRUNCATED,
          blocks + " blocks of " + blockSize + " do not fit a device of " + deviceSize + " bytes");
    }
    Refusal.require(blocks % ratio == 0, "the last cluster is not whole");
    Refusal.require(
        superblock.freeBlocks() >= 0 && superblock.freeBlocks() < blocks, "bad free count");
  }

  private void checkGroupSize() {
    int clusters = superblock.clustersPerGroup();
    Refusal.require(
        clusters > 0
            && clusters <= 8 * blockSize
            && clusters % 8 == 0
            && (long) clusters * ratio == blocksPerGroup
            && blocksPerGroup >= SMALLEST_GROUP,
        "bad size of block groups");
  }

  private int descriptorSize() {
    int size = superblock.descriptorSize();
    if ((size != 32 && size != 64)
        || features.incompat(ExtFeatures.INCOMPAT_64BIT) != (size == 64)) {
      throw Refusal.unsupported("group descriptors of " + size + " bytes");
    }
    return size;
  }

  private int inodeTableBlocks() {
    int size = superblock.inodeSize();
    Refusal.require(
        size >= 128 && size <= blockSize && Integer.bitCount(size) == 1, "bad inode size");
    int perGroup = superblock.inodesPerGroup();
    Refusal.require(
        perGroup > 0
            && perGroup <= 8 * blockSize
            && (long) perGroup * groups == superblock.inodes()
            && superblock.freeInodes() <= superblock.inodes(),
        "bad number of inodes");
    return (int) (((long) perGroup * size + blockSize - 1) / blockSize);
  }

  long firstBlock(int group) {
    return firstDataBlock + (long) group * blocksPerGroup;
  }

  /** The first block after the group; the last group may be short. */
  long endBlock(int group) {
    return Math.min(firstBlock(group) + blocksPerGroup, blocks);
  }

  /** Clusters in the group, which are the bits of its bitmap that mean something. */
  int clusters(int group) {
    return (int) ((endBlock(group) - firstBlock(group)) / ratio);
  }

  /** Bytes of the bitmap under its checksum. */
  int bitmapBytes() {
    return blocksPerGroup / ratio / 8;
  }

  int descriptorsPerBlock() {
    return blockSize / descriptorSize;
  }

  int descriptorBlocks() {
    return (groups + descriptorsPerBlock() - 1) / descriptorsPerBlock();
  }

  /** The block that holds the {@code index}-th block of the primary descriptor table. */
  long descriptorBlock(int index) {
    if (!features.incompat(ExtFeatures.INCOMPAT_META_BG) || index < superblock.firstMetaGroup()) {
      return superblockBlock() + 1L + index;
    }
    int group = index * descriptorsPerBlock();
    return firstBlock(group) + superblockBlocks(group);
  }

  /** The blocks at the start of a group taken by superblock, descriptors and their reserve. */
  int reservedAtStart(int group) {
    int taken = superblockBlocks(group);
    boolean metaGroups = features.incompat(ExtFeatures.INCOMPAT_META_BG);
    int metaGroup = group / descriptorsPerBlock();
    if (metaGroups && metaGroup >= superblock.firstMetaGroup()) {
      int inside = group % descriptorsPerBlock();
      boolean copy = inside == 0 || inside == 1 || inside == descriptorsPerBlock() - 1;
      return taken + (copy ? 1 : 0);
    }
    if (!hasSuperblock(group)) {
      return 0;
    }
    int table = metaGroups ? superblock.firstMetaGroup() : descriptorBlocks();
    return taken + table + superblock.reservedDescriptorBlocks();
  }

  /** Blocks before the descriptors: the superblock, in group 0 also what lies before it. */
  private int superblockBlocks(int group) {
    if (group == 0) {
      return superblockBlock() - firstDataBlock + 1;
    }
    return hasSuperblock(group) ? 1 : 0;
  }

  private int superblockBlock() {
    return blockSize == 1024 ? 1 : 0;
  }

  boolean hasSuperblock(int group) {
    if (group == 0) {
      return true;
    }
    if (features.compat(ExtFeatures.COMPAT_SPARSE_SUPER2)) {
      return group == superblock.backupGroup(0) || group == superblock.backupGroup(1);
    }
    if (group == 1 || !features.roCompat(ExtFeatures.RO_COMPAT_SPARSE_SUPER)) {
      return true;
    }
    return isPower(group, 3) || isPower(group, 5) || isPower(group, 7);
  }

  private static boolean isPower(int number, int base) {
    int rest = number;
    while (rest % base == 0) {
      rest /= base;
    }
    return rest == 1;
  }
}
