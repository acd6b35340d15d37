package io.cephcsi.bindings.rbd;

/** Which images of a pool are mirrored ({@code rbd_mirror_mode_t}). */
public enum PoolMirrorMode {
  /** None. */
  DISABLED,
  /** Those that are chosen one by one. */
  IMAGE,
  /** All that have a journal. */
  POOL;

  /**
   * The mode of a number.
   *
   * @throws IllegalArgumentException if it is one of a newer librbd
   */
  static PoolMirrorMode of(int mode) {
    return switch (mode) {
      case 0 -> DISABLED;
      case 1 -> IMAGE;
      case 2 -> POOL;
      default -> throw new IllegalArgumentException("unknown mode of mirroring a pool " + mode);
    };
  }
}
