package io.cephcsi.driver.csi;

import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;

/** Decodes what several requests have in common; what is missing is named. */
public final class Requests {
  private Requests() {}

  /** A field that must not be empty. */
  public static String required(String value, String field) {
    if (value.isEmpty()) {
      throw VolumeException.invalid(field + " is required");
    }
    return value;
  }

  /**
   * The identifier of a volume that must exist.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is missing, NOT_FOUND when it does not parse
   */
  public static VolumeId volumeId(String value) {
    return VolumeId.parse(required(value, "volume_id"))
        .orElseThrow(
            () ->
                VolumeException.notFound("volume " + value + " does not exist: not an id of ours"));
  }

  /** The capacity range; none is any. */
  public static CapacityRange capacity(io.cephcsi.proto.csi.v1.CapacityRange range) {
    return new CapacityRange(range.getRequiredBytes(), range.getLimitBytes());
  }
}
