package io.cephcsi.driver.reclaim.fs;

/**
 * A range of the device that holds nothing.
 *
 * @param offset first byte, counted from the start of the device (not of the partition)
 * @param length bytes, more than 0
 */
public record FreeRange(long offset, long length) {

  /** Checks that the range is not empty and not before the device. */
  public FreeRange {
    if (offset < 0 || length <= 0) {
      throw new IllegalArgumentException("not a range: " + offset + "+" + length);
    }
  }

  /** The first byte after the range. */
  public long end() {
    return offset + length;
  }
}
