package io.cephcsi.driver.reclaim;

/** How space is freed. */
public enum ReclaimMethod {
  /** Discards what the file system inside does not use. */
  TRIM,
  /** Frees ranges of zeroes. */
  SPARSIFY,
  /** The one, then the other. */
  BOTH;

  /** What is left to do to an image that is encrypted: ciphertext has no zeroes to find. */
  ReclaimMethod onCiphertext() {
    return this == BOTH ? TRIM : this;
  }

  boolean trims() {
    return this != SPARSIFY;
  }

  boolean sparsifies() {
    return this != TRIM;
  }
}
