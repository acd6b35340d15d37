package io.cephcsi.driver.rbd;

import io.cephcsi.driver.volume.VolumeId;
import java.util.Map;

/**
 * A volume as CreateVolume answers it.
 *
 * @param id its identifier
 * @param size in bytes
 * @param context for the calls on the nodes
 */
public record CreatedVolume(VolumeId id, long size, Map<String, String> context) {
  /** Copies the context. */
  public CreatedVolume {
    context = Map.copyOf(context);
  }
}
