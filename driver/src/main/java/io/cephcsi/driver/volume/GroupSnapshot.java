package io.cephcsi.driver.volume;

import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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

  /** Whether it is of these volumes and no others. */
  public boolean isOf(Set<VolumeId> volumes) {
    return uuids(snapshots.stream().map(CreatedSnapshot::source)).equals(uuids(volumes.stream()));
  }

  private static Set<UUID> uuids(Stream<VolumeId> ids) {
    return ids.map(VolumeId::uuid).collect(Collectors.toUnmodifiableSet());
  }
}
