package io.cephcsi.driver.reclaim;

/** How space is freed. */
public enum ReclaimMethod {
  /** Discards what the file system inside does not use. */
  TRIM,
  /** Frees ranges of zeroes. */
  SPARSIFY,
  /** The one, then the other. */
  BOTH;

  boolean trims() {
    return this != SPARSIFY;
  }

  boolean sparsifies() {
    return this != TRIM;
  }
}
