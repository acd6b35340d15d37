package io.cephcsi.driver.fsck;

import io.cephcsi.driver.tracker.TrackerState;
import java.util.List;
import java.util.Optional;

/**
 * The result of the check of one snapshot's tracker.
 *
 * @param snapshotId the CSI snapshot id
 * @param tracker empty when there is none, or it cannot be read
 * @param problems what is wrong, for a person; empty when nothing is
 */
public record TrackerReport(
    String snapshotId, Optional<TrackerState> tracker, List<String> problems) {
  /** Copies the list. */
  public TrackerReport {
    problems = List.copyOf(problems);
  }
}
