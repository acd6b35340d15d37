package io.cephcsi.driver.volume;

import java.time.Instant;
import java.util.List;

/**
 * Snapshots of several volumes that were taken at one point in time; all are ready to use.
 *
 * @param id its identifier
 * @param createdAt when
 * @param snapshots one for each volume
 */
public record GroupSnapshot(VolumeId id, Instant createdAt, List<CreatedSnapshot> snapshots) {
  /** Copies the list. */
  public GroupSnapshot {
    snapshots = List.copyOf(snapshots);
  }
}
