package io.cephcsi.driver.volume;

import java.util.List;

/**
 * A range of a volume.
 *
 * @param offset in bytes
 * @param length in bytes
 */
public record Extent(long offset, long length) {
  /** Where it ends. */
  public long end() {
    return offset + length;
  }

  /**
   * Which extents of a snapshot are asked for.
   *
   * @param startingOffset begin here, in bytes; not negative
   * @param maxResults the most extents in one batch; 0 for a usual number
   * @param sink takes them
   */
  public record Request(long startingOffset, int maxResults, Sink sink) {}

  /** Takes the extents of one snapshot, in order. */
  @FunctionalInterface
  public interface Sink {
    /**
     * Takes some; may block until the taker can take more.
     *
     * @param capacity the size of the snapshot's volume in bytes; the same in every call
     * @param extents rising, not touching each other or those of the calls before
     */
    void accept(long capacity, List<Extent> extents);

    /**
     * Requires that somebody still takes them: to be called often during long work.
     *
     * @throws VolumeException ABORTED if the taker went away
     */
    default void requireTaker() {}
  }
}
