package io.cephcsi.driver.reclaim.fs;

/** The feature bits of a btrfs superblock. */
final class BtrfsFeatures {
  private static final long FREE_SPACE_TREE = 1;
  private static final long FREE_SPACE_TREE_VALID = 1 << 1;
  private static final long VERITY = 1 << 2;
  private static final long BLOCK_GROUP_TREE = 1 << 3;

  private static final long MIXED_BACKREF = 1;
  private static final long DEFAULT_SUBVOL = 1 << 1;
  private static final long MIXED_GROUPS = 1 << 2;
  private static final long COMPRESS_LZO = 1 << 3;
  private static final long COMPRESS_ZSTD = 1 << 4;
  private static final long BIG_METADATA = 1 << 5;
  private static final long EXTENDED_IREF = 1 << 6;
  private static final long RAID56 = 1 << 7;
  private static final long SKINNY_METADATA = 1 << 8;
  private static final long NO_HOLES = 1 << 9;
  private static final long METADATA_UUID = 1 << 10;
  private static final long RAID1C34 = 1 << 11;
  private static final long ZONED = 1 << 12;
  private static final long EXTENT_TREE_V2 = 1 << 13;
  private static final long RAID_STRIPE_TREE = 1 << 14;
  private static final long SIMPLE_QUOTA = 1 << 16;

  /** None of these has a say in what is free. */
  private static final long INCOMPAT_KNOWN =
      MIXED_BACKREF
          | DEFAULT_SUBVOL
          | COMPRESS_LZO
          | COMPRESS_ZSTD
          | BIG_METADATA
          | EXTENDED_IREF
          | SKINNY_METADATA
          | NO_HOLES
          | METADATA_UUID;

  private final long compat;
  private final long roCompat;
  private final long incompat;

  BtrfsFeatures(BtrfsFields superblock) {
    this.compat = superblock.u64(172);
    this.roCompat = superblock.u64(180);
    this.incompat = superblock.u64(188);
  }

  /** Whether there is a free space tree. */
  boolean freeSpaceTree() {
    return (roCompat & FREE_SPACE_TREE) != 0;
  }

  /** Whether tree blocks have items of their own type in the extent tree. */
  boolean skinnyMetadata() {
    return (incompat & SKINNY_METADATA) != 0;
  }

  /** Whether tree blocks carry another UUID than the one the file system shows. */
  boolean metadataUuid() {
    return (incompat & METADATA_UUID) != 0;
  }

  void check() {
    refuse(incompat, MIXED_GROUPS, "mixed block groups");
    refuse(incompat, RAID56, "RAID 5 or 6");
    refuse(incompat, RAID1C34, "RAID 1 of three or four copies");
    refuse(incompat, ZONED, "zones");
    refuse(incompat, EXTENT_TREE_V2, "the extent tree version 2");
    refuse(incompat, RAID_STRIPE_TREE, "a RAID stripe tree");
    refuse(incompat, SIMPLE_QUOTA, "simple quotas");
    refuse(roCompat, BLOCK_GROUP_TREE, "a block group tree");
    refuseUnknown("compatible", compat);
    refuseUnknown(
        "read-only compatible", roCompat & ~(FREE_SPACE_TREE | FREE_SPACE_TREE_VALID | VERITY));
    refuseUnknown("incompatible", incompat & ~INCOMPAT_KNOWN);
    if ((incompat & MIXED_BACKREF) == 0) {
      throw Refusal.unsupported("back references of the first format");
    }
    boolean valid = (roCompat & FREE_SPACE_TREE_VALID) != 0;
    if (valid != freeSpaceTree()) {
      throw new Refusal(RefusalReason.NOT_CLEAN, "the free space tree is marked as not valid");
    }
  }

  private static void refuse(long bits, long bit, String what) {
    if ((bits & bit) != 0) {
      throw Refusal.unsupported(what);
    }
  }

  private static void refuseUnknown(String group, long bits) {
    if (bits != 0) {
      throw Refusal.unsupported("unknown " + group + " feature bits 0x" + Long.toHexString(bits));
    }
  }
}
