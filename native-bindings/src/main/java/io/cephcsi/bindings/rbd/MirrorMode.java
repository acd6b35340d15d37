package io.cephcsi.bindings.rbd;

/** How the changes of an image get to other sites ({@code rbd_mirror_image_mode_t}). */
public enum MirrorMode {
  /** By a journal of all writes; the image needs {@link ImageFeature#JOURNALING}. */
  JOURNAL,
  /** By snapshots that mirroring takes. */
  SNAPSHOT;

  /**
   * The mode of a number.
   *
   * @throws IllegalArgumentException if it is one of a newer librbd
   */
  static MirrorMode of(int mode) {
    return switch (mode) {
      case 0 -> JOURNAL;
      case 1 -> SNAPSHOT;
      default -> throw new IllegalArgumentException("unknown mode of mirroring " + mode);
    };
  }

  int number() {
    return switch (this) {
      case JOURNAL -> 0;
      case SNAPSHOT -> 1;
    };
  }
}
