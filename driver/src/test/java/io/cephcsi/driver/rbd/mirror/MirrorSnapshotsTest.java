package io.cephcsi.driver.rbd.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.MirrorPart;
import io.cephcsi.bindings.cls.MirrorPart.Kind;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class MirrorSnapshotsTest {
  private static final MirrorPart ORPHAN = new MirrorPart(Kind.COPY, true, true);
  private static final MirrorPart COPIED = new MirrorPart(Kind.COPY, true, false);
  private static final MirrorPart HALF = new MirrorPart(Kind.COPY, false, false);
  private static final MirrorPart PRIMARY = new MirrorPart(Kind.PRIMARY, true, false);
  private static final MirrorPart DEMOTED = new MirrorPart(Kind.DEMOTED, true, false);
  private static final MirrorPart DEMOTED_COPY = new MirrorPart(Kind.DEMOTED_COPY, true, false);
  private static final MirrorPart HALF_DEMOTED = new MirrorPart(Kind.DEMOTED_COPY, false, false);

  private static HeaderSnapshot of(long id, Optional<MirrorPart> mirror) {
    SnapshotNamespace kind = mirror.isPresent() ? SnapshotNamespace.MIRROR : SnapshotNamespace.USER;
    return new HeaderSnapshot(
        id, "s", kind, 0, Instant.ofEpochSecond(id), Optional.empty(), mirror);
  }

  /** Of mirror snapshots, newest first, with the ids 9, 8, ..., and one of a user in between. */
  private static MirrorSnapshots all(MirrorPart... parts) {
    List<HeaderSnapshot> snapshots = new ArrayList<>();
    for (int i = 0; i < parts.length; i++) {
      snapshots.add(of(100 + i, Optional.empty()));
      snapshots.add(of(9 - i, Optional.of(parts[i])));
    }
    return new MirrorSnapshots(snapshots);
  }

  private static List<Long> orphans(MirrorPart... parts) {
    return all(parts).orphans().stream().map(HeaderSnapshot::id).toList();
  }

  private static Optional<Long> half(MirrorPart... parts) {
    return all(parts).half().map(HeaderSnapshot::id);
  }

  @Test
  void whatCutOffPromotionsLeftIsTold() {
    MirrorPart marked = new MirrorPart(Kind.COPY, false, true);
    assertThat(orphans(ORPHAN, HALF, COPIED)).containsExactly(9L);
    assertThat(orphans(ORPHAN, marked, COPIED)).containsExactly(9L, 8L);
    assertThat(orphans(ORPHAN)).containsExactly(9L);
    assertThat(orphans()).isEmpty();
    assertThat(orphans(HALF, ORPHAN)).isEmpty();
    assertThat(orphans(PRIMARY, ORPHAN, HALF)).isEmpty();
    assertThat(MirrorSnapshots.isComplete(all(ORPHAN).orphans().get(0))).isTrue();
    assertThat(MirrorSnapshots.isComplete(all(marked).orphans().get(0))).isFalse();
  }

  @Test
  void aCopyThatIsNotCompleteIsTold() {
    assertThat(half(HALF, COPIED)).contains(9L);
    assertThat(half(HALF_DEMOTED, DEMOTED)).contains(9L); // back from the other site
    assertThat(half(ORPHAN, ORPHAN, HALF, COPIED)).contains(7L);
    assertThat(half(ORPHAN, HALF_DEMOTED, COPIED)).contains(8L);
    assertThat(half()).isEmpty();
    assertThat(half(COPIED, HALF)).isEmpty();
    assertThat(half(ORPHAN, COPIED, HALF)).isEmpty();
    assertThat(half(PRIMARY, HALF)).isEmpty();
    assertThat(half(ORPHAN)).isEmpty();
  }

  @Test
  void aDemotionThatIsNotCopiedCompletelyIsTold() {
    assertThat(all(HALF_DEMOTED, COPIED).endsInHalfDemotion()).isTrue();
    assertThat(all().endsInHalfDemotion()).isFalse();
    assertThat(all(DEMOTED_COPY, HALF_DEMOTED).endsInHalfDemotion()).isFalse();
    assertThat(all(HALF, COPIED).endsInHalfDemotion()).isFalse();
    assertThat(all(ORPHAN, HALF_DEMOTED).endsInHalfDemotion()).isFalse();
    assertThat(all(PRIMARY, HALF_DEMOTED).endsInHalfDemotion()).isFalse();
  }

  @Test
  void onlyAfterADemotionThatIsHereCompletelyBothSitesHaveTheSame() {
    assertThat(all(DEMOTED, PRIMARY).endsInDemotion()).isTrue();
    assertThat(all(DEMOTED_COPY, COPIED).endsInDemotion()).isTrue();
    assertThat(all(HALF_DEMOTED, COPIED).endsInDemotion()).isFalse();
    assertThat(all(COPIED, DEMOTED).endsInDemotion()).isFalse();
    assertThat(all(HALF, DEMOTED_COPY).endsInDemotion()).isFalse();
    assertThat(all(ORPHAN, DEMOTED_COPY).endsInDemotion()).isFalse();
    assertThat(all(PRIMARY, DEMOTED_COPY).endsInDemotion()).isFalse();
    assertThat(all().endsInDemotion()).isFalse();
  }

  private static MirrorSnapshots only(MirrorPart... parts) {
    return new MirrorSnapshots(
        all(parts).newestFirst().stream().filter(s -> s.mirror().isPresent()).toList());
  }

  private static void assertNoWayBack(MirrorSnapshots snapshots, String why) {
    assertThatThrownBy(snapshots::wayBack)
        .hasMessageContaining(why)
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION));
  }

  @Test
  void librbdGoesBackToTheNewestCompleteCopyOrNotAtAll() {
    assertThat(only(HALF, COPIED, COPIED).wayBack()).map(HeaderSnapshot::id).contains(8L);
    assertThat(only(ORPHAN, HALF, COPIED).wayBack()).map(HeaderSnapshot::id).contains(7L);
    assertThat(only(COPIED, HALF).wayBack()).isEmpty(); // it does not have to
    assertThat(only().wayBack()).isEmpty();
    assertNoWayBack(only(HALF_DEMOTED, COPIED), "demotion");
    assertNoWayBack(only(ORPHAN, HALF_DEMOTED, COPIED), "demotion");
    assertNoWayBack(all(HALF, COPIED), "between two copies"); // one of a user
    assertNoWayBack(only(HALF), "no copy is complete");
  }

  private static Optional<Instant> newestCopy(MirrorPart... parts) {
    return all(parts).newestCopy();
  }

  @Test
  void theNewestCopyOfAnotherSiteIsTold() {
    assertThat(newestCopy(PRIMARY, DEMOTED_COPY, COPIED)).contains(Instant.ofEpochSecond(8));
    assertThat(newestCopy(PRIMARY, PRIMARY, COPIED)).contains(Instant.ofEpochSecond(7));
    assertThat(newestCopy(PRIMARY, DEMOTED)).isEmpty();
    assertThat(newestCopy()).isEmpty();
  }

  @Test
  void aCopyThatWasNeverCompleteIsTold() {
    assertThat(all(HALF).neverComplete()).isTrue();
    assertThat(all(HALF_DEMOTED).neverComplete()).isTrue();
    assertThat(all(ORPHAN, HALF).neverComplete()).isTrue();
    assertThat(all().neverComplete()).isFalse(); // a journal has none
    assertThat(all(HALF, COPIED).neverComplete()).isFalse();
    assertThat(all(HALF, DEMOTED).neverComplete()).isFalse();
    assertThat(all(PRIMARY).neverComplete()).isFalse();
  }
}
