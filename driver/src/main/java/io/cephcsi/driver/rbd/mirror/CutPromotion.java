package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.MirrorPart;
import io.cephcsi.bindings.rados.IoContext;
import java.util.List;

/**
 * A forced promotion that was cut off. librbd goes back to an older copy if the newest is not
 * complete; but it takes a snapshot of its own before (an orphan), which counts as complete. If it
 * was cut off after that, it did not go back when it was repeated: a half copied image became the
 * primary. So the orphans are marked as not complete, as what they are of.
 *
 * <p>No other mark is changed: the daemon goes on by them when the other site comes back.
 */
final class CutPromotion {
  private CutPromotion() {}

  /**
   * Has librbd decide anew whether to go back; a round trip for each promotion that was cut off.
   *
   * @return whether one was, over a copy that is not complete
   */
  static boolean reopen(IoContext io, String imageId, MirrorSnapshots snapshots) {
    List<HeaderSnapshot> orphans = snapshots.half().isPresent() ? snapshots.orphans() : List.of();
    orphans.stream()
        .filter(MirrorSnapshots::isComplete)
        .forEach(orphan -> MirrorPart.setIncomplete(io, imageId, orphan.id()));
    return !orphans.isEmpty();
  }
}
