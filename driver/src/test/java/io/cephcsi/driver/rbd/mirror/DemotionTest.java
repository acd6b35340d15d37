package io.cephcsi.driver.rbd.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorSite.State;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DemotionTest {
  private static final Duration NOTICED = Duration.ofSeconds(90);
  private static final Instant COPIED = Instant.ofEpochSecond(1000);

  private static MirrorSite site(boolean up, State state, Instant said) {
    return new MirrorSite("uuid", state, "split-brain", said, up);
  }

  /** As it was said when each daemon had noticed the promotion. */
  private static MirrorSite site(boolean up, State state) {
    return site(up, state, COPIED.plus(NOTICED).plusSeconds(1));
  }

  private static void demote(Instant copied, MirrorSite... remote) {
    Demotion.requireFollowed("volume v", List.of(remote), copied, NOTICED);
  }

  private static void assertStays(String why, MirrorSite... remote) {
    assertThatThrownBy(() -> demote(COPIED, remote))
        .hasMessage("volume v: " + why)
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION));
  }

  private static String notFollowed(String daemon) {
    return "no other site whose daemon runs has followed since this one was promoted (it is "
        + daemon
        + "): the daemon rbd-mirror there must run and copy first";
  }

  @Test
  void aPrimaryThatAnotherSiteCannotFollowStays() {
    assertStays(
        "the other site does not follow (split-brain): resync it first",
        site(true, State.REPLAYING),
        site(true, State.ERROR));
  }

  @ParameterizedTest
  @EnumSource(names = {"REPLAYING", "SYNCING", "STOPPING_REPLAY"})
  void whatAnotherSiteFollowsIsDemoted(State state) {
    demote(COPIED, site(true, state));
    demote(COPIED, site(false, State.UNKNOWN), site(true, state));
    demote(COPIED, site(true, state, COPIED.plusSeconds(1)));
    demote(Instant.MIN, site(true, state, Instant.EPOCH)); // never was a copy
    assertStays(
        notFollowed(site(true, state).show()),
        site(true, state, COPIED)); // another primary, before this one
  }

  /** What was written since it died, or was cut off, is on this side only. */
  @ParameterizedTest
  @EnumSource(names = {"REPLAYING", "SYNCING", "STOPPING_REPLAY"})
  void aDaemonThatFollowedAndRunsNoMoreDoesNotFollow(State state) {
    assertStays(notFollowed(site(false, state).show()), site(false, state));
    assertStays(
        notFollowed(site(true, State.UNKNOWN).show()),
        site(true, State.UNKNOWN),
        site(false, state));
  }

  @Test
  void theSideThatLosesIsDemoted() {
    demote(COPIED, site(true, State.STOPPED));
    demote(Instant.MIN, site(true, State.STOPPED, Instant.EPOCH));
  }

  @Test
  void aDaemonThatHasNotNoticedItsDemotionDoesNotFollow() {
    assertStays(notFollowed("up+stopped"), site(true, State.STOPPED, COPIED.plus(NOTICED)));
  }

  @ParameterizedTest
  @EnumSource(names = {"UNKNOWN", "STARTING_REPLAY"})
  void whatNobodyFollowsStays(State state) {
    assertStays(notFollowed(site(true, state).show()), site(true, state));
    assertStays(notFollowed(site(false, state).show()), site(false, state));
  }

  @Test
  void aDaemonThatDiedBeforeItFollowedDoesNotFollow() {
    assertStays(notFollowed("down+stopped"), site(false, State.STOPPED));
    assertStays(notFollowed("down+error"), site(false, State.ERROR));
    assertStays(notFollowed("not known"));
  }
}
