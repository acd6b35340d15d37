package io.cephcsi.bindings.rbd;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** Flags of an image, which say that its object map is not valid: {@code RBD_FLAG_*}. */
public enum ImageFlag {
  /** The object map is not valid; {@link RbdImage#rebuildObjectMap} rebuilds it. */
  OBJECT_MAP_INVALID(1 << 0),
  /** What the object map says of changes since a snapshot is not valid. */
  FAST_DIFF_INVALID(1 << 1);

  private final int mask;

  ImageFlag(int mask) {
    this.mask = mask;
  }

  /** The flags of a mask; bits that are not known are left out. */
  public static Set<ImageFlag> of(long bits) {
    EnumSet<ImageFlag> flags = EnumSet.noneOf(ImageFlag.class);
    for (ImageFlag flag : values()) {
      if ((bits & flag.mask) != 0) {
        flags.add(flag);
      }
    }
    return Collections.unmodifiableSet(flags);
  }
}
