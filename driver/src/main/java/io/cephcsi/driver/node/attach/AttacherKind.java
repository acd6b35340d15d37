package io.cephcsi.driver.node.attach;

import java.util.Arrays;
import java.util.Optional;

/** The ways in which an RBD image becomes a block device; the first that works is preferred. */
public enum AttacherKind {
  /** The kernel's rbd module. */
  KRBD("rbd", "krbd"),
  /** rbd-nbd and the kernel's nbd module. */
  NBD("rbd-nbd", "nbd"),
  /** An export of qemu-storage-daemon over FUSE and a loop device. */
  FUSE("fuse", "rbd-fuse");

  private final String mounter;
  private final String alias;

  AttacherKind(String mounter, String alias) {
    this.mounter = mounter;
    this.alias = alias;
  }

  /** The value of the StorageClass parameter {@code mounter}. */
  public String mounter() {
    return mounter;
  }

  /** The kind with this name, as {@code mounter} and {@code mapOptions} write it. */
  public static Optional<AttacherKind> named(String name) {
    return Arrays.stream(values())
        .filter(kind -> kind.mounter.equals(name) || kind.alias.equals(name))
        .findFirst();
  }
}
