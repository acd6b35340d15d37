package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.reclaim.fs.ContentNode;
import java.util.Optional;
import java.util.function.BooleanSupplier;

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
    return of(image, ReclaimPlan.DEFAULT_TRIM_GRANULARITY, () -> false);
  }

  /**
   * As {@link #of(RbdImage)}, for images that are to be trimmed next: looks first whether the image
   * may be.
   *
   * @param stop whether to end early, with an answer that is none; must not block
   * @return also for what reason the image would be skipped: it is in use, migrating, a mirror's
   *     secondary, thick on purpose, or has no exclusive lock; or it is a swap area and nothing
   *     else, of which nobody has said that its machine is not suspended
   */
  static TrimReport of(RbdImage image, ReclaimPlan plan, BooleanSupplier stop) {
    Optional<SkipReason> skip = SkipReason.of(image).or(() -> SkipReason.ofThickness(image, plan));
    if (skip.isPresent()) {
      return TrimReport.skipped(skip.get().reason(), skip.get().detail(), "");
    }
    if (!plan.enableLock() && !image.features().contains(ImageFeature.EXCLUSIVE_LOCK)) {
      return ReclaimWork.withoutLock();
    }
    TrimReport report = of(image, plan.trimGranularity(), stop);
    return report
        .content()
        .filter(ContentNode::isSwapAlone)
        .map(
            swap ->
                TrimReport.skipped(
                        "swap_alone",
                        "a swap area alone: a machine that is suspended may have its memory there",
                        report.fileSystem())
                    .of(swap))
        .orElse(report);
  }

  private static TrimReport of(RbdImage image, long granularity, BooleanSupplier stop) {
    try (OfflineTrim.Planned planned =
        OfflineTrim.plan(image, granularity, Optional.empty(), stop)) {
      return planned.report();
    }
  }
}
