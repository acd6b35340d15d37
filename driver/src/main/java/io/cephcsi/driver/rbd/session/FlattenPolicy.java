package io.cephcsi.driver.rbd.session;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.rbd.background.BackgroundLease;
import io.cephcsi.driver.rbd.background.Flattener;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;

/**
 * Keeps clone chains and the number of snapshots on an image within {@link CloneLimits} by
 * flattening. For one call.
 *
 * @param limits how long, and how many
 * @param flattener flattens in the background
 * @param leases connects for that
 */
public record FlattenPolicy(CloneLimits limits, Flattener flattener, BackgroundLease leases) {
  /**
   * Refuses clones of an image whose chain is at the hard limit.
   *
   * @param image the name of the image that is flattened then, also in the trash
   * @param imageId its id
   * @param depth how deep the clone would be
   * @throws VolumeException ABORTED; the retry after the flattening succeeds
   */
  public void requireDepth(IoContext io, String image, String imageId, int depth) {
    if (isTooDeep(depth)) {
      flatten(io, image, imageId);
      throw new VolumeException(
          Reason.ABORTED,
          "image "
              + image
              + " is at the end of a chain of clones as long as the limit of "
              + limits.hardDepth()
              + " allows; it is being flattened: try again later");
    }
  }

  /** Whether a clone this deep is refused. */
  public boolean isTooDeep(int depth) {
    return depth > limits.hardDepth();
  }

  /** Whether a clone this deep needs an ancestor flattened in the background. */
  public boolean isDeep(int depth) {
    return depth > limits.softDepth();
  }

  /**
   * Refuses more snapshots on an image that has as many as it may have; one that has rather many
   * loses its oldest in the background, by the flattening of the clones that hold them.
   *
   * @throws VolumeException ABORTED; the retry after the flattening succeeds. RESOURCE_EXHAUSTED
   *     when all are snapshots that stay on the image
   */
  public void requireRoomForSnapshot(
      IoContext io, String image, String imageId, ImageHeader header) {
    int count = header.snapshotIds().size();
    if (count < limits.minSnapshots()) {
      return;
    }
    // The header has the newest first.
    List<Long> oldest = header.snapshotIds().subList(limits.minSnapshots() - 1, count);
    flattener.flattenClones(leases, io, imageId, oldest);
    if (count >= limits.maxSnapshots()) {
      long own =
          ImageHeader.snapshots(io, imageId, header.snapshotIds()).stream()
              .filter(snapshot -> snapshot.namespace() == SnapshotNamespace.USER)
              .count();
      if (own >= limits.maxSnapshots()) {
        throw new VolumeException(
            Reason.RESOURCE_EXHAUSTED,
            "image "
                + image
                + " has "
                + own
                + " native snapshots, and at most "
                + limits.maxSnapshots()
                + " are allowed: delete some");
      }
      throw new VolumeException(
          Reason.ABORTED,
          "image "
              + image
              + " has "
              + count
              + " snapshots, and at most "
              + limits.maxSnapshots()
              + " are allowed; clones of the oldest are being flattened: try again later");
    }
  }

  /**
   * Has an image flattened, soon, also in the trash.
   *
   * @param imageId of an image that was completed
   */
  public void flatten(IoContext io, String image, String imageId) {
    flattener.flatten(leases, io, image, imageId);
  }
}
