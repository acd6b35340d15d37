package io.cephcsi.driver.cli;

import io.cephcsi.driver.reclaim.PoolPlan;
import io.cephcsi.driver.reclaim.ReclaimResult;
import java.util.Locale;

/**
 * What became of an image of a pool.
 *
 * @param kind how it ended
 * @param reason as a sentence; empty when it was done
 * @param freedBytes usage before less usage after
 * @param freedObjects how many objects went away
 * @param discardedBytes how much was discarded
 * @param insideBytes the part of it that lies in objects that stay
 */
record PoolOutcome(
    Kind kind,
    String reason,
    long freedBytes,
    long freedObjects,
    long discardedBytes,
    long insideBytes) {
  /** Ways to end. */
  enum Kind {
    /** It was trimmed. */
    DONE(true),
    /** It was removed, or is in the trash. */
    GONE(true),
    /** The trim was refused by what it found. */
    REFUSED(false),
    /** It was in use, or is not to be touched. */
    SKIPPED(false),
    /** A part was trimmed. */
    GAVE_WAY(false),
    /** An error ended it. */
    FAILED(false);

    private final boolean last;

    Kind(boolean last) {
      this.last = last;
    }

    /** In outputs and files. */
    String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Without anything freed. */
  static PoolOutcome without(Kind kind, String reason) {
    return new PoolOutcome(kind, reason, 0, 0, 0, 0);
  }

  /** By the result of a reclaim that only trims. */
  static PoolOutcome of(ReclaimResult result) {
    return new PoolOutcome(
        kind(result),
        result.reason().isEmpty() ? result.trim().detail() : result.reason(),
        result.freed(),
        result.freedObjects(),
        result.trim().discardedBytes(),
        result.trim().discarded().insideBytes());
  }

  private static Kind kind(ReclaimResult result) {
    return switch (result.outcome()) {
      case DONE, DRY_RUN -> result.trim().isSkipped() ? Kind.REFUSED : Kind.DONE;
      case SKIPPED -> Kind.SKIPPED;
      case GAVE_WAY -> Kind.GAVE_WAY;
    };
  }

  /** Whether a run that goes on leaves the image alone. */
  boolean isLast() {
    return kind.last;
  }

  /** With what an earlier attempt on the same image came to. */
  PoolOutcome after(PoolOutcome earlier) {
    return new PoolOutcome(
        kind,
        reason,
        PoolPlan.sum(freedBytes, earlier.freedBytes),
        PoolPlan.sum(freedObjects, earlier.freedObjects),
        PoolPlan.sum(discardedBytes, earlier.discardedBytes),
        PoolPlan.sum(insideBytes, earlier.insideBytes));
  }
}
