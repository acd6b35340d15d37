package io.cephcsi.driver.rbd.mirror;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.MirrorPart;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class CutPromotionTest {
  private static final MirrorPart ORPHAN = new MirrorPart(true, true, true);
  private static final MirrorPart COPIED = new MirrorPart(true, true, false);
  private static final MirrorPart HALF = new MirrorPart(true, false, false);
  private static final MirrorPart PRIMARY = new MirrorPart(false, true, false);

  private static HeaderSnapshot of(long id, Optional<MirrorPart> mirror) {
    SnapshotNamespace kind = mirror.isPresent() ? SnapshotNamespace.MIRROR : SnapshotNamespace.USER;
    return new HeaderSnapshot(id, "s", kind, 0, Instant.EPOCH, Optional.empty(), mirror);
  }

  /** Of mirror snapshots, newest first, with the ids 9, 8, ..., and one of a user in between. */
  private static List<Long> orphans(MirrorPart... parts) {
    List<HeaderSnapshot> snapshots = new ArrayList<>();
    for (int i = 0; i < parts.length; i++) {
      snapshots.add(of(100 + i, Optional.empty()));
      snapshots.add(of(9 - i, Optional.of(parts[i])));
    }
    return CutPromotion.orphans(snapshots);
  }

  @Test
  void whatWasTakenOfAHalfCopiedImageIsNotComplete() {
    assertThat(orphans(ORPHAN, HALF, COPIED)).containsExactly(9L);
    assertThat(orphans(ORPHAN, ORPHAN, HALF, COPIED)).containsExactly(9L, 8L);
    assertThat(orphans(new MirrorPart(true, false, true), ORPHAN, HALF, COPIED))
        .containsExactly(9L, 8L); // cut off once more
  }

  @Test
  void whatIsCompleteStaysSo() {
    assertThat(orphans()).isEmpty();
    assertThat(orphans(HALF, COPIED)).isEmpty(); // librbd sees that itself
    assertThat(orphans(ORPHAN)).isEmpty();
    assertThat(orphans(ORPHAN, COPIED, HALF)).isEmpty();
    assertThat(orphans(ORPHAN, PRIMARY, HALF)).isEmpty();
    assertThat(orphans(PRIMARY, ORPHAN, HALF, COPIED)).isEmpty();
  }
}
