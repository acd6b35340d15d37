package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.MirrorPart;
import io.cephcsi.bindings.rados.IoContext;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A forced promotion that was cut off. librbd goes back to the last complete copy if the newest is
 * not complete; but it takes a snapshot of its own before (an orphan), which counts as complete. If
 * it was cut off after that, it did not go back when it was repeated: a half copied image became
 * the primary. So the orphans are marked as not complete, as what they are of.
 */
final class CutPromotion {
  private CutPromotion() {}

  /**
   * Has librbd decide anew whether to go back.
   *
   * @return whether a promotion was cut off over an incomplete copy
   */
  static boolean reopen(IoContext io, String imageId) {
    List<Long> ids = ImageHeader.read(io, imageId).map(ImageHeader::snapshotIds).orElse(List.of());
    List<Long> orphans = orphans(ImageHeader.snapshots(io, imageId, ids));
    orphans.forEach(id -> MirrorPart.setIncomplete(io, imageId, id));
    return !orphans.isEmpty();
  }

  /** The newest mirror snapshots, if they are orphans above an incomplete copy. */
  static List<Long> orphans(List<HeaderSnapshot> newestFirst) {
    List<Long> orphans = new ArrayList<>();
    for (HeaderSnapshot snapshot : newestFirst) {
      Optional<MirrorPart> mirror = snapshot.mirror();
      if (mirror.isEmpty()) {
        continue;
      }
      if (!mirror.get().orphan()) {
        return mirror.get().copy() && !mirror.get().complete() ? orphans : List.of();
      }
      orphans.add(snapshot.id());
    }
    return List.of();
  }
}
