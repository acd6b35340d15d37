package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Optional;

/**
 * A volume that is asked for.
 *
 * @param name the name that the CO chose
 * @param parameters of the StorageClass
 * @param capacity how large
 * @param source where its content comes from; empty for none
 * @param onlyRead whether every use of it only reads
 * @param pin which metadata servers serve it; empty for any. A shallow volume has none
 */
public record CephFsRequest(
    String name,
    CephFsParameters parameters,
    CapacityRange capacity,
    Optional<ContentSource> source,
    boolean onlyRead,
    Optional<MdsPin> pin) {
  /**
   * Refuses what cannot be meant, before anything is touched.
   *
   * @throws VolumeException INVALID_ARGUMENT or OUT_OF_RANGE
   */
  public CephFsRequest {
    if (source.isEmpty()) {
      capacity.sizeToCreate();
    } else {
      String cluster = source.get().id().clusterId();
      if (!cluster.equals(parameters.clusterId())) {
        throw VolumeException.invalid(
            "volume_content_source is in cluster \""
                + cluster
                + "\", the volume would be in \""
                + parameters.clusterId()
                + "\"");
      }
      if (!onlyRead && parameters.backingSnapshot().orElse(false)) {
        throw VolumeException.invalid(
            "parameters: backingSnapshot is true, but the volume_capabilities allow writing");
      }
    }
  }

  /** Whether a source is to be shown instead of copied. */
  boolean wantsShallow() {
    return source.isPresent() && onlyRead && parameters.backingSnapshot().orElse(true);
  }
}
