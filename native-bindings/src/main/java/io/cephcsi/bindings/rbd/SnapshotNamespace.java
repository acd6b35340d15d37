package io.cephcsi.bindings.rbd;

/** What kind of snapshot one is: {@code rbd_snap_namespace_type_t}. */
public enum SnapshotNamespace {
  /** Made by a user. */
  USER,
  /** The part of a group's snapshot. */
  GROUP,
  /** Removed, and kept because clones need it. */
  TRASH,
  /** Made by mirroring. */
  MIRROR,
  /** A kind that this version does not know. */
  UNKNOWN;

  /** The kind of a number in Ceph. */
  public static SnapshotNamespace of(int type) {
    return switch (type) {
      case 0 -> USER;
      case 1 -> GROUP;
      case 2 -> TRASH;
      case 3 -> MIRROR;
      default -> UNKNOWN;
    };
  }
}
