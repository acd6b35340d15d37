package io.cephcsi.driver.volume;

import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;
import java.util.Set;

/** Checks, before anything is changed, that a group snapshot of some volumes is possible. */
public final class GroupSources {
  private GroupSources() {}

  /**
   * Refuses volumes that no one snapshot of a group can have.
   *
   * @param sources at least one
   * @param most how many it can have
   * @param clusterId of the VolumeGroupSnapshotClass; empty when it does not say
   * @param containers what they must share beside the cluster, such as {@code pools}
   * @throws VolumeException RESOURCE_EXHAUSTED for too many; FAILED_PRECONDITION if they are in
   *     several of them; INVALID_ARGUMENT if they are not in the cluster of the class
   */
  public static void requireTogether(
      Set<VolumeId> sources, int most, Optional<String> clusterId, String containers) {
    if (sources.size() > most) {
      throw new VolumeException(
          Reason.RESOURCE_EXHAUSTED, "at most " + most + " volumes are taken together");
    }
    VolumeId first = sources.iterator().next();
    for (VolumeId id : sources) {
      if (!id.clusterId().equals(first.clusterId()) || id.location() != first.location()) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            "volumes " + first + " and " + id + " are in different " + containers + " or clusters");
      }
    }
    if (clusterId.isPresent() && !clusterId.get().equals(first.clusterId())) {
      throw VolumeException.invalid(
          "parameters: clusterID is \"" + clusterId.get() + "\", but that of volume " + first);
    }
  }
}
