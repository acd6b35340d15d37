package io.cephcsi.driver.rbd.image;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rbd.MirrorInfo;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorSite.State;
import io.cephcsi.bindings.rbd.MirrorStatus;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** A copy whose daemon says that it follows, though its primary may be lost. */
class LostPrimaryTest {
  private static final MirrorSite HERE =
      new MirrorSite("", State.REPLAYING, "", Instant.EPOCH, true);

  private static MirrorStatus copy(MirrorSite... sites) {
    return new MirrorStatus(
        Optional.of(new MirrorInfo("id", MirrorInfo.State.ENABLED, false)), List.of(sites));
  }

  private static MirrorSite there(boolean up) {
    return new MirrorSite("uuid", State.STOPPED, "", Instant.EPOCH, up);
  }

  @Test
  void aCopyGoesWithAPrimaryOnlyWhileAnotherSitesDaemonRuns() {
    assertThat(FollowingCopy.hasLivingPrimary(copy(HERE, there(true)))).isTrue();
    assertThat(FollowingCopy.hasLivingPrimary(copy(HERE, there(false)))).isFalse();
    assertThat(FollowingCopy.hasLivingPrimary(copy(HERE))).isFalse();
    assertThat(FollowingCopy.hasLivingPrimary(copy(there(true)))).isFalse();
    assertThat(FollowingCopy.is(copy(HERE))).isTrue();
  }

  /** As one that has lost its own cluster: it is alive in this one. */
  @Test
  void aDaemonThatRunsAndSaysNothingMoreHasNoPrimary() {
    Instant said = Instant.ofEpochSecond(1000);
    MirrorSite silent = new MirrorSite("uuid", State.STOPPED, "", said, true);
    assertThat(FollowingCopy.hasLivingPrimary(copy(here(said.plusSeconds(89)), silent))).isTrue();
    assertThat(FollowingCopy.hasLivingPrimary(copy(here(said.plusSeconds(90)), silent))).isFalse();
    assertThat(FollowingCopy.hasLivingPrimary(copy(here(said.minusSeconds(500)), silent))).isTrue();
  }

  private static MirrorSite here(Instant said) {
    return new MirrorSite("", State.REPLAYING, "", said, true);
  }
}
