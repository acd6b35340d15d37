package io.cephcsi.bindings.rbd;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** Operation features of an image: {@code RBD_OPERATION_FEATURE_*}. */
public enum OperationFeature {
  /** It has clones of format 2. */
  CLONE_PARENT(1 << 0),
  /** It is a clone of format 2. */
  CLONE_CHILD(1 << 1),
  /** It is in a group. */
  GROUP(1 << 2),
  /** It has snapshots in the trash, kept for clones. */
  SNAP_TRASH(1 << 3);

  private final int mask;

  OperationFeature(int mask) {
    this.mask = mask;
  }

  static Set<OperationFeature> of(long bits) {
    EnumSet<OperationFeature> features = EnumSet.noneOf(OperationFeature.class);
    for (OperationFeature feature : values()) {
      if ((bits & feature.mask) != 0) {
        features.add(feature);
      }
    }
    return Collections.unmodifiableSet(features);
  }
}
