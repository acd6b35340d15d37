package io.cephcsi.driver.node;

import java.util.Optional;

/**
 * How full a volume is and how it is.
 *
 * @param bytes its bytes; empty when they cannot be told
 * @param inodes its inodes; empty for a block volume, or when they cannot be told
 * @param abnormal whether something is wrong with it
 * @param condition what is wrong, or that nothing is
 */
public record VolumeStats(
    Optional<Amount> bytes, Optional<Amount> inodes, boolean abnormal, String condition) {
  /** A volume that does not answer. */
  public static VolumeStats dead(String condition) {
    return new VolumeStats(Optional.empty(), Optional.empty(), true, condition);
  }

  /**
   * So much of so much.
   *
   * @param total how much there is
   * @param used how much of it is used
   * @param available how much more can be used
   */
  public record Amount(long total, long used, long available) {}
}
