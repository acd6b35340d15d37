package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.cls.HeaderNotification;
import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.MirrorPart;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;

/**
 * Lets librbd go back to the last complete copy when a promotion is forced, which it does not by
 * itself: a half copied image, or an older one, would become the primary.
 *
 * <p>A daemon takes the snapshot of a copy first, and copies then. So a snapshot has what was there
 * before, which is the last complete copy if it is the newest one and not complete:
 *
 * <pre>
 *   snapshot            1 (complete)     2 (not complete)    the image
 *   its content         as before 1      as copied with 1    some of 1, some of 2
 * </pre>
 *
 * librbd goes back to 1, over snapshots that are not complete. It does not go back at all if 2 is
 * of a demotion, nor if it was cut off after it had taken a snapshot of its own (an orphan), which
 * counts as complete. So orphans are marked as not complete, one is added if there is none, and
 * then 2 is marked as complete: librbd goes back to 2. An orphan that is not complete says so to
 * whoever repeats it.
 */
final class CutPromotion {
  private CutPromotion() {}

  /**
   * Has librbd decide anew whether to go back; a few round trips for an image of which a part is
   * copied, or whose promotion was cut off.
   *
   * @return why it will, for the log
   * @throws VolumeException ABORTED if somebody else changes the snapshots
   */
  static Optional<String> reopen(RbdPool pool, String imageId, MirrorSnapshots snapshots) {
    IoContext io = pool.io();
    Optional<HeaderSnapshot> half = snapshots.half();
    if (half.isEmpty() && snapshots.orphans().stream().allMatch(MirrorSnapshots::isComplete)) {
      return Optional.empty();
    }
    if (snapshots.orphans().isEmpty()) {
      addOrphan(io, imageId);
    }
    snapshots.orphans().stream()
        .filter(MirrorSnapshots::isComplete)
        .forEach(orphan -> MirrorPart.setComplete(io, imageId, orphan.id(), false));
    if (half.isPresent()) {
      MirrorPart.forgetDemotion(io, imageId, half.get().id());
      MirrorPart.setComplete(io, imageId, half.get().id(), true);
    }
    HeaderNotification.tellWatchers(pool, imageId);
    return Optional.of(
        snapshots.orphans().isEmpty()
            ? "what the other site wrote last is copied in part"
            : "a forced promotion was cut off");
  }

  private static void addOrphan(IoContext io, String imageId) {
    try {
      ImageHeader.read(io, imageId)
          .ifPresent(header -> MirrorPart.addIncompleteOrphan(io, imageId, header));
    } catch (CephException e) {
      throw e.errno() == Errno.ESTALE
          ? new VolumeException(
              Reason.ABORTED, "the snapshots of the image are being changed; try again", e)
          : e;
    }
  }
}
