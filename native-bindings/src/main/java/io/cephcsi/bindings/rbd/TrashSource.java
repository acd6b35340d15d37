package io.cephcsi.bindings.rbd;

/** Who moved an image to the trash: {@code rbd_trash_image_source_t}. */
public enum TrashSource {
  USER,
  MIRRORING,
  MIGRATION,
  /** An image that is being removed: the removal was broken off, or goes on. */
  REMOVING,
  /** A parent whose removal waits for its clones. */
  USER_PARENT,
  /** A source that this version does not know. */
  UNKNOWN;

  /** The source of a number in Ceph. */
  public static TrashSource of(int source) {
    return switch (source) {
      case 0 -> USER;
      case 1 -> MIRRORING;
      case 2 -> MIGRATION;
      case 3 -> REMOVING;
      case 4 -> USER_PARENT;
      default -> UNKNOWN;
    };
  }
}
