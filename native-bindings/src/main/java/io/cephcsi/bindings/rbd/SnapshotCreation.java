package io.cephcsi.bindings.rbd;

/** How a snapshot treats clients that want to be quiesced: {@code RBD_SNAP_CREATE_*}. */
public enum SnapshotCreation {
  /** They are not asked. */
  SKIP_QUIESCE(1 << 0),
  /** They are asked; the snapshot is taken also if one fails. */
  IGNORE_QUIESCE_ERROR(1 << 1);

  private final int mask;

  SnapshotCreation(int mask) {
    this.mask = mask;
  }

  static int mask(SnapshotCreation... flags) {
    int mask = 0;
    for (SnapshotCreation flag : flags) {
      mask |= flag.mask;
    }
    return mask;
  }
}
