package io.cephcsi.driver.fsck;

import java.time.Duration;
import java.time.Instant;

/**
 * How a check is carried out.
 *
 * @param concurrency how many operations are in flight at most
 * @param operationsPerSecond how many are begun in a second at most; 0 for no bound
 * @param settle how long what looks wrong may take to become right, before each further look
 * @param minAge unfinished work that is younger is not reported: its driver may be at it
 * @param repairAge what is younger is not removed by a repair
 * @param deep whether every object map is compared with the objects, not only some
 */
public record CheckSettings(
    int concurrency,
    int operationsPerSecond,
    Duration settle,
    Duration minAge,
    Duration repairAge,
    boolean deep) {
  /** Whether something that was changed then is old enough to be reported as unfinished. */
  public boolean isOld(Instant changedAt) {
    return !changedAt.plus(minAge).isAfter(Instant.now());
  }

  /** Whether a repair may remove something that was changed then. */
  public boolean isRepairable(Instant changedAt) {
    return !changedAt.plus(repairAge).isAfter(Instant.now());
  }
}
