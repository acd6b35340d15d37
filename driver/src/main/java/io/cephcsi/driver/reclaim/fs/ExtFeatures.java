package io.cephcsi.driver.reclaim.fs;

/**
 * The feature bits of ext2/3/4: the ones that are understood, and what else makes us refuse.
 *
 * <p>Known means: either it changes the place or meaning of free-space metadata and the reader
 * follows it, or it touches nothing but the inside of used blocks.
 */
final class ExtFeatures {
  static final int COMPAT_HAS_JOURNAL = 0x4;
  static final int COMPAT_RESIZE_INODE = 0x10;
  static final int COMPAT_SPARSE_SUPER2 = 0x200;
  private static final int COMPAT_ORPHAN_FILE = 0x1000;

  /** dir_prealloc, has_journal, ext_attr, resize_inode, dir_index, fast_commit, stable_inodes. */
  private static final int COMPAT_KNOWN =
      0x1
          | 0x8
          | 0x20
          | 0x400
          | 0x800
          | COMPAT_HAS_JOURNAL
          | COMPAT_RESIZE_INODE
          | COMPAT_SPARSE_SUPER2
          | COMPAT_ORPHAN_FILE;

  private static final int INCOMPAT_RECOVER = 0x4;
  private static final int INCOMPAT_JOURNAL_DEVICE = 0x8;
  static final int INCOMPAT_META_BG = 0x10;
  static final int INCOMPAT_EXTENTS = 0x40;
  static final int INCOMPAT_64BIT = 0x80;
  static final int INCOMPAT_MMP = 0x100;
  static final int INCOMPAT_FLEX_BG = 0x200;
  static final int INCOMPAT_CSUM_SEED = 0x2000;

  /** filetype, ea_inode, large_dir, inline_data, encrypt, casefold, and those named above. */
  private static final int INCOMPAT_KNOWN =
      0x2
          | 0x400
          | 0x4000
          | 0x8000
          | 0x10000
          | 0x20000
          | INCOMPAT_META_BG
          | INCOMPAT_EXTENTS
          | INCOMPAT_64BIT
          | INCOMPAT_MMP
          | INCOMPAT_FLEX_BG
          | INCOMPAT_CSUM_SEED;

  static final int RO_COMPAT_SPARSE_SUPER = 0x1;
  static final int RO_COMPAT_HUGE_FILE = 0x8;
  static final int RO_COMPAT_GDT_CSUM = 0x10;
  static final int RO_COMPAT_BIGALLOC = 0x200;
  static final int RO_COMPAT_METADATA_CSUM = 0x400;
  private static final int RO_COMPAT_READONLY = 0x1000;
  private static final int RO_COMPAT_SHARED_BLOCKS = 0x4000;
  private static final int RO_COMPAT_ORPHAN_PRESENT = 0x10000;

  /** large_file, btree_dir, dir_nlink, extra_isize, quota, project, verity, and those above. */
  private static final int RO_COMPAT_KNOWN =
      0x2
          | 0x4
          | 0x20
          | 0x40
          | 0x100
          | 0x2000
          | 0x8000
          | RO_COMPAT_SPARSE_SUPER
          | RO_COMPAT_HUGE_FILE
          | RO_COMPAT_GDT_CSUM
          | RO_COMPAT_BIGALLOC
          | RO_COMPAT_METADATA_CSUM;

  private final int compat;
  private final int incompat;
  private final int roCompat;

  ExtFeatures(int compat, int incompat, int roCompat) {
    this.compat = compat;
    this.incompat = incompat;
    this.roCompat = roCompat;
  }

  boolean compat(int bit) {
    return (compat & bit) != 0;
  }

  boolean incompat(int bit) {
    return (incompat & bit) != 0;
  }

  boolean roCompat(int bit) {
    return (roCompat & bit) != 0;
  }

  boolean metadataChecksums() {
    return roCompat(RO_COMPAT_METADATA_CSUM);
  }

  /** Whether descriptors have a checksum, and so may say that a bitmap was never written. */
  boolean groupChecksums() {
    return roCompat(RO_COMPAT_METADATA_CSUM | RO_COMPAT_GDT_CSUM);
  }

  boolean none() {
    return (compat | incompat | roCompat) == 0;
  }

  FileSystemKind kind() {
    int ext4 = INCOMPAT_EXTENTS | INCOMPAT_64BIT | INCOMPAT_FLEX_BG | INCOMPAT_MMP;
    int ext4RoCompat = RO_COMPAT_HUGE_FILE | RO_COMPAT_GDT_CSUM | RO_COMPAT_METADATA_CSUM;
    if (incompat(ext4) || roCompat(ext4RoCompat)) {
      return FileSystemKind.EXT4;
    }
    return compat(COMPAT_HAS_JOURNAL) ? FileSystemKind.EXT3 : FileSystemKind.EXT2;
  }

  /** Refuses what the flags themselves forbid, then what is not known. */
  void check() {
    if (incompat(INCOMPAT_JOURNAL_DEVICE)) {
      throw Refusal.unsupported("this is the external journal of another file system");
    }
    if (incompat(INCOMPAT_RECOVER)) {
      throw new Refusal(
          RefusalReason.JOURNAL_NOT_EMPTY,
          "the journal needs recovery (mounted, or not unmounted)");
    }
    if (roCompat(RO_COMPAT_ORPHAN_PRESENT)) {
      throw new Refusal(RefusalReason.ORPHANS, "the orphan file is in use");
    }
    if (roCompat(RO_COMPAT_SHARED_BLOCKS)) {
      throw Refusal.unsupported("blocks are shared between files (shared_blocks)");
    }
    if (roCompat(RO_COMPAT_READONLY)) {
      throw Refusal.unsupported("the file system is marked read-only");
    }
    refuseUnknown("compatible", compat & ~COMPAT_KNOWN);
    refuseUnknown("incompatible", incompat & ~INCOMPAT_KNOWN);
    refuseUnknown("read-only compatible", roCompat & ~RO_COMPAT_KNOWN);
    if (roCompat(RO_COMPAT_METADATA_CSUM) && roCompat(RO_COMPAT_GDT_CSUM)) {
      throw Refusal.inconsistent("metadata_csum and uninit_bg are both set");
    }
    if (incompat(INCOMPAT_CSUM_SEED) && !metadataChecksums()) {
      throw Refusal.inconsistent("metadata_csum_seed is set without metadata_csum");
    }
    if (incompat(INCOMPAT_META_BG) && compat(COMPAT_RESIZE_INODE)) {
      throw Refusal.inconsistent("meta_bg and resize_inode are both set");
    }
  }

  private static void refuseUnknown(String group, int bits) {
    if (bits != 0) {
      throw Refusal.unsupported(
          "unknown " + group + " feature bits 0x" + Integer.toHexString(bits));
    }
  }
}
