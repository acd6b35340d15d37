package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.cls.HeaderMetadata;
import io.cephcsi.bindings.rbd.RbdImage;
import java.util.List;
import java.util.Set;

/**
 * Whether older versions of ceph-csi allocated all of an image when they made it, as its metadata
 * say: whoever asked for that wants to keep the space.
 */
public final class ThickProvisioning {
  /** What to say of such an image. */
  public static final String DETAIL = "the image was provisioned thick, to keep all of its space";

  private static final List<String> KEYS =
      List.of("rbd.csi.ceph.com/thick-provisioned", ".rbd.csi.ceph.com/thick-provisioned");

  /** What ceph-csi reads as false; it never wrote anything else than true. */
  private static final Set<String> FALSE = Set.of("0", "f", "F", "false", "FALSE", "False");

  private ThickProvisioning() {}

  /** Whether an open image was provisioned so; one round trip. */
  public static boolean isOf(RbdImage image) {
    return HeaderMetadata.read(image.pool().io(), image.id(), KEYS).values().stream()
        .anyMatch(value -> !FALSE.contains(value));
  }
}
