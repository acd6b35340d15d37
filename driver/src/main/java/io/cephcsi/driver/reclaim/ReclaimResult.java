package io.cephcsi.driver.reclaim;

import java.util.OptionalLong;

/**
 * The result of a reclaim.
 *
 * @param outcome how it ended
 * @param reason why nothing was touched, or not all; empty otherwise
 * @param before allocated bytes before; empty when they could not be measured
 * @param after allocated bytes after; empty when they could not be measured
 * @param freedObjects how many objects went away, by the object maps before and after; without
 *     valid maps, those that the trim removed
 * @param trim what became of the trim
 */
public record ReclaimResult(
    Outcome outcome,
    String reason,
    OptionalLong before,
    OptionalLong after,
    long freedObjects,
    TrimReport trim) {
  /** Bytes that were freed; 0 when that could not be measured. */
  public long freed() {
    return before.isPresent() && after.isPresent()
        ? Math.max(0, before.getAsLong() - after.getAsLong())
        : 0;
  }

  /** How a reclaim ends. */
  public enum Outcome {
    /** All of the image was worked on. */
    DONE,
    /** Nothing was touched: the request asked for the measurement only. */
    DRY_RUN,
    /** Nothing was touched, for the reason given: in use, migrating, a mirror secondary. */
    SKIPPED,
    /** A part was reclaimed: another client requested the image, or the driver stops. */
    GAVE_WAY
  }
}
