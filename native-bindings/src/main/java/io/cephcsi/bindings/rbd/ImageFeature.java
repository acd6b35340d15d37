package io.cephcsi.bindings.rbd;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;

/** Features of an image: the bits of {@code rbd/features.h}. */
public enum ImageFeature {
  LAYERING(0, "layering"),
  STRIPINGV2(1, "striping"),
  EXCLUSIVE_LOCK(2, "exclusive-lock"),
  OBJECT_MAP(3, "object-map"),
  FAST_DIFF(4, "fast-diff"),
  DEEP_FLATTEN(5, "deep-flatten"),
  JOURNALING(6, "journaling"),
  DATA_POOL(7, "data-pool"),
  OPERATIONS(8, "operations"),
  MIGRATING(9, "migrating"),
  NON_PRIMARY(10, "non-primary"),
  DIRTY_CACHE(11, "dirty-cache");

  private final long mask;
  private final String cephName;

  ImageFeature(int bit, String cephName) {
    this.mask = 1L << bit;
    this.cephName = cephName;
  }

  /** The feature's bit in Ceph's masks. */
  public long mask() {
    return mask;
  }

  /** The feature's name in Ceph, such as {@code exclusive-lock}. */
  public String cephName() {
    return cephName;
  }

  /** The features of a mask; bits that are not known are left out. */
  public static Set<ImageFeature> of(long mask) {
    EnumSet<ImageFeature> features = EnumSet.noneOf(ImageFeature.class);
    for (ImageFeature feature : values()) {
      if ((mask & feature.mask()) != 0) {
        features.add(feature);
      }
    }
    return Collections.unmodifiableSet(features);
  }

  /** The feature of a name in Ceph; empty if there is none. */
  public static Optional<ImageFeature> named(String cephName) {
    for (ImageFeature feature : values()) {
      if (feature.cephName.equals(cephName)) {
        return Optional.of(feature);
      }
    }
    return Optional.empty();
  }

  /** The mask of some features. */
  public static long mask(Set<ImageFeature> features) {
    long mask = 0;
    for (ImageFeature feature : features) {
      mask |= feature.mask();
    }
    return mask;
  }
}
