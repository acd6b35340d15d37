package io.cephcsi.driver.reclaim;

import java.util.Comparator;

/**
 * What a trim of an image of a pool would free.
 *
 * @param id the image's id
 * @param name the image's name, as others wrote it
 * @param trim what the trim would discard, or why nothing
 */
public record ImageEstimate(String id, String name, TrimReport trim) {
  /**
   * What an image costs beside its discards, in operations of an OSD: the lock, the file system's
   * metadata, the measurement before and after.
   */
  static final long PER_IMAGE = 100;

  /** The most bytes for each second of the cluster's time first; images that are equal by name. */
  public static final Comparator<ImageEstimate> BY_BENEFIT =
      Comparator.comparingDouble(ImageEstimate::benefit)
          .thenComparingLong(ImageEstimate::bytes)
          .reversed()
          .thenComparing(ImageEstimate::name)
          .thenComparing(ImageEstimate::id);

  /** How many bytes a trim would discard; 0 when it would not take place. */
  public long bytes() {
    return trim.discardedBytes();
  }

  /** Whether it was in use, or could not be read, so that another time may bring another answer. */
  public boolean isOfTheMoment() {
    return trim.reason().equals(SkipReason.IN_USE)
        || trim.reason().equals(PoolEstimator.UNREADABLE);
  }

  /** Bytes for an operation of an OSD. */
  private double benefit() {
    return (double) bytes() / (PER_IMAGE + trim.discarded().operations());
  }
}
