package io.cephcsi.driver.rbd.volume;

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

class SharedKeyTest {
  private static MirrorStatus status(boolean primary, MirrorSite... others) {
    return new MirrorStatus(
        Optional.of(new MirrorInfo("id", MirrorInfo.State.ENABLED, primary)), List.of(others));
  }

  private static MirrorSite site(boolean up, State state) {
    return new MirrorSite("uuid", state, "", Instant.EPOCH, up);
  }

  @Test
  void ofAnImageThatIsNotMirroredNobodyElseNeedsIt() {
    assertThat(SharedKey.mayBeNeeded(new MirrorStatus(Optional.empty(), List.of()))).isFalse();
  }

  @Test
  void copiesThatFollowGoWithThePrimary() {
    MirrorSite copy = site(true, State.REPLAYING);
    assertThat(SharedKey.mayBeNeeded(status(true, copy))).isFalse();
    assertThat(SharedKey.mayBeNeeded(status(true, copy, site(true, State.STOPPED)))).isTrue();
    assertThat(SharedKey.mayBeNeeded(status(false, copy))).isTrue();
    assertThat(SharedKey.mayBeNeeded(status(true))).isTrue();
  }

  @ParameterizedTest
  @CsvSource({"true, STOPPED", "true, ERROR", "true, UNKNOWN", "false, REPLAYING"})
  void aSiteThatDoesNotFollowMayHaveBeenPromoted(boolean up, State state) {
    assertThat(SharedKey.mayBeNeeded(status(true, site(up, state)))).isTrue();
  }
}
