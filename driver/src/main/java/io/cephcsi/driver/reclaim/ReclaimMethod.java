package io.cephcsi.driver.reclaim;

/** How space is freed. */
public enum ReclaimMethod {
  /** Discards what the file system inside does not use. */
  TRIM,
  /** Frees ranges of zeroes. */
  SPARSIFY,
  /** The one, then the other. */
  BOTH;

  /** What is left of it for an image that is sparsified only where that alone is asked for. */
  ReclaimMethod withoutSparsify() {
    return this == BOTH ? TRIM : this;
  }

  boolean trims() {
    return this != SPARSIFY;
  }

  boolean sparsifies() {
    return this != TRIM;
  }
}
