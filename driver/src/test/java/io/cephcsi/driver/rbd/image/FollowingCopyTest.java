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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FollowingCopyTest {
  private static MirrorStatus status(boolean primary, MirrorSite... others) {
    return new MirrorStatus(
        Optional.of(new MirrorInfo("id", MirrorInfo.State.ENABLED, primary)), List.of(others));
  }

  private static MirrorSite site(boolean up, State state) {
    return new MirrorSite("uuid", state, "", Instant.EPOCH, up);
  }

  @Test
  void ofAnImageThatIsNotMirroredNoOtherSiteHasAnything() {
    assertThat(FollowingCopy.areAllOthers(new MirrorStatus(Optional.empty(), List.of()))).isTrue();
  }

  @Test
  void copiesThatFollowGoWithThePrimary() {
    MirrorSite copy = site(true, State.REPLAYING);
    assertThat(FollowingCopy.areAllOthers(status(true, copy))).isTrue();
    assertThat(FollowingCopy.areAllOthers(status(true, copy, site(true, State.STOPPED)))).isFalse();
    assertThat(FollowingCopy.areAllOthers(status(false, copy))).isFalse();
    assertThat(FollowingCopy.areAllOthers(status(true))).isFalse();
  }

  @ParameterizedTest
  @CsvSource({"true, STOPPED", "true, ERROR", "true, UNKNOWN", "false, REPLAYING"})
  void aSiteThatDoesNotFollowMayHaveBeenPromoted(boolean up, State state) {
    assertThat(FollowingCopy.areAllOthers(status(true, site(up, state)))).isFalse();
  }
}
