package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.RbdImage;
import java.util.OptionalLong;

/** What a trim of an image would free, for rankings. Changes nothing, and takes no lock. */
public final class TrimEstimate {
  private TrimEstimate() {}

  /**
   * Looks into the file system of an image.
   *
   * @return how many bytes a trim would discard; empty when it would discard nothing for a reason:
   *     the file system is mounted, encrypted, or not known
   */
  public static OptionalLong of(RbdImage image) {
    OfflineTrim.Planned planned = OfflineTrim.plan(image, ReclaimPlan.DEFAULT_TRIM_GRANULARITY);
    return planned.plan().map(plan -> OptionalLong.of(plan.bytes())).orElse(OptionalLong.empty());
  }
}
