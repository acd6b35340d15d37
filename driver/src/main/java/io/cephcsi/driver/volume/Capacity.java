package io.cephcsi.driver.volume;

import java.util.Map;
import java.util.OptionalLong;

/**
 * Free space.
 *
 * @param available in bytes
 * @param largest the largest volume that could be filled; empty when nothing but the room limits it
 */
public record Capacity(long available, OptionalLong largest) {
  /** The smallest volume, in bytes. */
  public static final long SMALLEST = CapacityRange.GRANULARITY;

  /** Finds out how much room there is. Blocks on the cluster. */
  public interface Source {
    /**
     * The room for volumes of a StorageClass.
     *
     * @param parameters of the StorageClass
     * @param topology where the volumes should be accessible from; empty for anywhere
     * @throws VolumeException INVALID_ARGUMENT if what the parameters name does not exist
     */
    Capacity of(Map<String, String> parameters, Map<String, String> topology);

    /** The room on all clusters that the driver has credentials for. */
    Capacity ofAll();
  }
}
