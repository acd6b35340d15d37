package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.RbdImage;
import java.util.Optional;

/** What a trim of an image would free, for rankings. Changes nothing, and takes no lock. */
public final class TrimEstimate {
  private TrimEstimate() {}

  /**
   * Looks into the file system of an image.
   *
   * @return what a trim would discard; or for what reason it would discard nothing: the file system
   *     is mounted, encrypted, or not known
   */
  public static TrimReport of(RbdImage image) {
    return OfflineTrim.plan(image, ReclaimPlan.DEFAULT_TRIM_GRANULARITY, Optional.empty()).report();
  }
}
