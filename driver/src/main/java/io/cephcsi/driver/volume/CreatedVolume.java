package io.cephcsi.driver.volume;

import java.util.Map;

/**
 * A volume as CreateVolume answers it.
 *
 * @param id its identifier
 * @param size in bytes
 * @param context for the calls on the nodes
 * @param topology where it is accessible from; empty for everywhere
 */
public record CreatedVolume(
    VolumeId id, long size, Map<String, String> context, Map<String, String> topology) {
  /** Copies the maps. */
  public CreatedVolume {
    context = Map.copyOf(context);
    topology = Map.copyOf(topology);
  }
}
