package io.cephcsi.driver.rbd.parameters;

import io.cephcsi.driver.volume.VolumeException;

/**
 * The limits of the length of clone chains, and of snapshots on an image. Reads of a deep chain are
 * slow, and an image with many snapshots opens slowly.
 *
 * @param hardDepth a clone with more ancestors is refused until one of them is flattened
 * @param softDepth a clone with more ancestors has one of them flattened in the background
 * @param maxSnapshots an image with this many snapshots gets no more until clones are flattened
 * @param minSnapshots an image with more snapshots has its oldest clones flattened in the
 *     background
 */
public record CloneLimits(int hardDepth, int softDepth, int maxSnapshots, int minSnapshots) {
  /** ceph-csi's. */
  public static final CloneLimits DEFAULT = new CloneLimits(8, 4, 450, 250);

  /** Refuses limits that contradict each other. */
  public CloneLimits {
    if (hardDepth < 2 || softDepth < 1 || softDepth > hardDepth) {
      throw VolumeException.invalid(
          "clone depth: the hard limit must be at least 2 and not below the soft limit");
    }
    if (maxSnapshots < 1 || minSnapshots < 1 || minSnapshots > maxSnapshots) {
      throw VolumeException.invalid(
          "snapshots on an image: the maximum must not be below the minimum, both at least 1");
    }
  }
}
