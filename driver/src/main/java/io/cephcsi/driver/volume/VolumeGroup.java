package io.cephcsi.driver.volume;

import java.util.List;
import java.util.Map;

/**
 * A group of volumes.
 *
 * @param id its identifier
 * @param context what is known of where it is
 * @param volumes its members, sorted by their ids
 */
public record VolumeGroup(VolumeId id, Map<String, String> context, List<CreatedVolume> volumes) {
  /** Copies the collections. */
  public VolumeGroup {
    context = Map.copyOf(context);
    volumes = List.copyOf(volumes);
  }
}
