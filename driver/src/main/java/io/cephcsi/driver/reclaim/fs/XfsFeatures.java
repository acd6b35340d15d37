package io.cephcsi.driver.reclaim.fs;

/**
 * The version and feature bits of XFS: the ones that are understood, and what else makes us refuse.
 *
 * <p>Known means: either it changes the free-space metadata and the reader follows it, or it
 * touches nothing but the inside of used blocks. Not known: metadata directories, zoned devices
 * (both move realtime space into groups of its own), and whatever comes later.
 */
final class XfsFeatures {
  private static final int VERSION_MASK = 0xF;
  private static final int LOG_V2 = 0x400;

  /** attr, nlink, quota, align, dalign, extflg, dirv2, borg (ascii-ci), sector, morebits, logv2. */
  private static final int VERSION_KNOWN =
      0x10 | 0x20 | 0x40 | 0x80 | 0x100 | 0x800 | 0x1000 | 0x2000 | 0x4000 | 0x8000 | LOG_V2;

  private static final int MORE_BITS = 0x8000;
  private static final int LAZY_COUNTERS = 0x2;

  /** lazysbcount, attr2, projid32, crc, ftype. */
  private static final int FEATURES2_KNOWN = LAZY_COUNTERS | 0x8 | 0x80 | 0x100 | 0x200;

  private static final int FEATURES2_CRC = 0x100;

  private static final int RO_COMPAT_RMAPBT = 0x2;

  /** finobt, rmapbt, reflink, inobtcount. */
  private static final int RO_COMPAT_KNOWN = 0xF;

  private static final int INCOMPAT_META_UUID = 0x4;
  private static final int INCOMPAT_NEEDS_REPAIR = 0x10;

  /**
   * ftype, sparse inodes, meta_uuid, bigtime, nrext64, exchange-range (a permission to use a log
   * item; a clean log has none), parent pointers (extended attributes).
   */
  private static final int INCOMPAT_KNOWN =
      0x1 | 0x2 | INCOMPAT_META_UUID | 0x8 | 0x20 | 0x40 | 0x80;

  private final int version;
  private final int features2;
  private final int badFeatures2;
  private final int compat;
  private final int roCompat;
  private final int incompat;
  private final int logIncompat;

  XfsFeatures(XfsFields superblock) {
    this.version = superblock.u16(100);
    this.features2 = superblock.u32(200);
    this.badFeatures2 = superblock.u32(204);
    this.compat = superblock.u32(208);
    this.roCompat = superblock.u32(212);
    this.incompat = superblock.u32(216);
    this.logIncompat = superblock.u32(220);
  }

  /** Whether this is version 5, whose metadata carries checksums, owners and log positions. */
  boolean v5() {
    return (version & VERSION_MASK) == 5;
  }

  /** Whether AGF counters alone are kept up to date while mounted. */
  boolean lazyCounters() {
    return v5() || ((version & MORE_BITS) != 0 && (features2 & LAZY_COUNTERS) != 0);
  }

  int logVersion() {
    return v5() || (version & LOG_V2) != 0 ? 2 : 1;
  }

  boolean metaUuid() {
    return v5() && (incompat & INCOMPAT_META_UUID) != 0;
  }

  boolean reverseMap() {
    return v5() && (roCompat & RO_COMPAT_RMAPBT) != 0;
  }

  void check() {
    int number = version & VERSION_MASK;
    if (number != 4 && number != 5) {
      throw Refusal.unsupported("version " + number);
    }
    refuseUnknown("version", version & ~VERSION_MASK & ~VERSION_KNOWN);
    if ((version & MORE_BITS) != 0) {
      refuseUnknown("features2", features2 & ~FEATURES2_KNOWN);
    }
    Refusal.require(
        badFeatures2 == 0 || badFeatures2 == features2, "features2 and its copy differ");
    if (v5()) {
      checkV5();
    } else if ((version & MORE_BITS) != 0 && (features2 & FEATURES2_CRC) != 0) {
      throw Refusal.inconsistent("version 4 with checksums");
    }
  }

  private void checkV5() {
    if ((incompat & INCOMPAT_NEEDS_REPAIR) != 0) {
      throw new Refusal(RefusalReason.HAS_ERRORS, "marked as in need of xfs_repair");
    }
    if (logIncompat != 0) {
      throw new Refusal(
          RefusalReason.JOURNAL_NOT_EMPTY,
          "the log may hold items of features 0x" + Integer.toHexString(logIncompat));
    }
    refuseUnknown("compatible", compat);
    refuseUnknown("read-only compatible", roCompat & ~RO_COMPAT_KNOWN);
    refuseUnknown("incompatible", incompat & ~INCOMPAT_KNOWN);
  }

  private static void refuseUnknown(String group, int bits) {
    if (bits != 0) {
      throw Refusal.unsupported(
          "unknown " + group + " feature bits 0x" + Integer.toHexString(bits));
    }
  }
}
