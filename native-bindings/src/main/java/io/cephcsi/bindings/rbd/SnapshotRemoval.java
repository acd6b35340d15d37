package io.cephcsi.bindings.rbd;

/** What the removal of a snapshot does before: {@code RBD_SNAP_REMOVE_*}. */
public enum SnapshotRemoval {
  /** Takes its protection off. */
  UNPROTECT(1 << 0),
  /** Flattens its clones. */
  FLATTEN(1 << 1);

  private final int mask;

  SnapshotRemoval(int mask) {
    this.mask = mask;
  }

  static int mask(SnapshotRemoval... flags) {
    int mask = 0;
    for (SnapshotRemoval flag : flags) {
      mask |= flag.mask;
    }
    return mask;
  }
}
