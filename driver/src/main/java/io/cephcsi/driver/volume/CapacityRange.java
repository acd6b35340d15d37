package io.cephcsi.driver.volume;

/**
 * How large a volume may be, in bytes.
 *
 * @param required at least this many; 0 when the caller does not care
 * @param limit at most this many; 0 for no limit
 */
public record CapacityRange(long required, long limit) {
  /** The size of a volume when the caller does not say. */
  public static final long DEFAULT_BYTES = 1L << 30;

  /** The largest volume, an exbibyte, on any storage. */
  public static final long MAX_BYTES = 1L << 60;

  /** Images are made of whole blocks of this many bytes, so that no file system loses its tail. */
  public static final long GRANULARITY = 4096;

  /** A range without bounds. */
  public static final CapacityRange ANY = new CapacityRange(0, 0);

  /**
   * Refuses what no volume can be.
   *
   * @throws VolumeException INVALID_ARGUMENT for negative bounds; OUT_OF_RANGE for a limit below
   *     what is required
   */
  public CapacityRange {
    if (required < 0 || limit < 0) {
      throw VolumeException.invalid(
          "capacity_range: required_bytes and limit_bytes must not be negative");
    }
    if (limit > 0 && limit < required) {
      throw new VolumeException(
          VolumeException.Reason.OUT_OF_RANGE,
          "capacity_range: limit_bytes " + limit + " is less than required_bytes " + required);
    }
  }

  /**
   * The size of a new volume: the smallest that can be made within the range, 1 GiB if the range
   * does not say more.
   *
   * @throws VolumeException OUT_OF_RANGE if no whole number of blocks lies in the range, or it is
   *     beyond {@link #MAX_BYTES}
   */
  public long sizeToCreate() {
    if (required == 0) {
      long size = limit == 0 ? DEFAULT_BYTES : Math.min(DEFAULT_BYTES, limit);
      size -= size % GRANULARITY;
      if (size == 0) {
        throw outOfRange();
      }
      return size;
    }
    if (required > MAX_BYTES) {
      throw new VolumeException(
          VolumeException.Reason.OUT_OF_RANGE,
          "no volume has " + required + " bytes; at most " + MAX_BYTES + " can be asked for");
    }
    long size = (required + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
    if (limit > 0 && size > limit) {
      throw outOfRange();
    }
    return size;
  }

  /** Whether an existing size satisfies the range. */
  public boolean contains(long size) {
    return size >= required && (limit == 0 || size <= limit);
  }

  private VolumeException outOfRange() {
    return new VolumeException(
        VolumeException.Reason.OUT_OF_RANGE,
        "no volume size between "
            + required
            + " and "
            + limit
            + " bytes is a multiple of "
            + GRANULARITY);
  }
}
