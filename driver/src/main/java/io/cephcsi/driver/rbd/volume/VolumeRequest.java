package io.cephcsi.driver.rbd.volume;

import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import java.util.Optional;

/**
 * What CreateVolume asks for.
 *
 * @param name the name that the CO chose
 * @param parameters of the StorageClass
 * @param mutable limits of I/O
 * @param capacity how large
 * @param source where its content comes from; empty for none
 */
public record VolumeRequest(
    String name,
    RbdParameters parameters,
    MutableParameters mutable,
    CapacityRange capacity,
    Optional<ContentSource> source) {
  /** One without limits of I/O. */
  public VolumeRequest(
      String name,
      RbdParameters parameters,
      CapacityRange capacity,
      Optional<ContentSource> source) {
    this(name, parameters, MutableParameters.NONE, capacity, source);
  }

  /**
   * Refuses a size that no image can have, before anything is touched.
   *
   * @throws io.cephcsi.driver.volume.VolumeException OUT_OF_RANGE
   */
  void validate() {
    if (source.isEmpty()) {
      parameters.requireSize(capacity.sizeToCreate());
    }
  }

  /** The same with other parameters. */
  VolumeRequest with(RbdParameters other) {
    return new VolumeRequest(name, other, mutable, capacity, source);
  }

  /** The identifier of what its content comes from. */
  Optional<String> sourceId() {
    return source.map(from -> from.id().toString());
  }
}
