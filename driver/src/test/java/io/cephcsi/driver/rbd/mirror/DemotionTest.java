package io.cephcsi.driver.rbd.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorSite.State;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DemotionTest {
  private static MirrorSite site(String uuid, boolean up, State state) {
    return new MirrorSite(uuid, state, "split-brain", Instant.EPOCH, up);
  }

  private static void demote(MirrorSite... sites) {
    Demotion.requireFollowed("volume v", new MirrorStatus(Optional.empty(), List.of(sites)));
  }

  @Test
  void aPrimaryThatAnotherSiteDoesNotFollowStays() {
    assertThatThrownBy(() -> demote(site("a", true, State.REPLAYING), site("b", true, State.ERROR)))
        .hasMessage("volume v: the other site does not follow (split-brain): resync it first")
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION));
  }

  @ParameterizedTest
  @EnumSource
  void anyOtherIsDemoted(State state) {
    demote();
    demote(site("a", false, state), site("", true, state));
    if (state != State.ERROR) {
      demote(site("a", true, state));
    }
  }
}
