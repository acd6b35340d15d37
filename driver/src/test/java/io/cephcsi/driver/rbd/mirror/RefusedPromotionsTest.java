package io.cephcsi.driver.rbd.mirror;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorSite.State;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.driver.grpc.StatusTable;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.grpc.Status.Code;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class RefusedPromotionsTest {
  private static final Duration NOTICES = Duration.ofSeconds(90);
  private static final VolumeId ID = new VolumeId("c", 1, UUID.randomUUID());
  private static final String IDLE =
      "replaying, {\"local_snapshot_timestamp\":20,\"remote_snapshot_timestamp\":20,"
          + "\"replay_state\":\"idle\"}";

  private final RefusedPromotions refused = new RefusedPromotions(NOTICES, this::now);
  private long now = 7;

  private long now() {
    return now;
  }

  private void pass(Duration time) {
    now += time.toNanos();
  }

  private static MirrorSite local(boolean up, String description) {
    return new MirrorSite("", State.REPLAYING, description, Instant.EPOCH, up);
  }

  private static MirrorSite remote(boolean up, State state) {
    return new MirrorSite("uuid", state, "", Instant.EPOCH, up);
  }

  private Reason refuse(MirrorSite... sites) {
    VolumeException e =
        refused.refuse(
            ID,
            new MirrorStatus(Optional.empty(), List.of(sites)),
            new IllegalStateException("busy"));
    assertThat(e).hasMessageContaining(ID.toString()).hasRootCauseMessage("busy");
    return e.reason();
  }

  private Optional<Reason> check(MirrorSite... sites) {
    return refused
        .check(ID, new MirrorStatus(Optional.empty(), List.of(sites)))
        .map(VolumeException::reason);
  }

  private static MirrorSite waiting(boolean up) {
    return new MirrorSite("", State.UNKNOWN, "remote image is not primary", Instant.EPOCH, up);
  }

  /** librbd would promote it: it was demoted here last. */
  @ParameterizedTest
  @EnumSource(names = {"STOPPED", "REPLAYING"})
  void aSiteThatMayHaveThePrimaryIsAsRefusedByLibrbd(State state) {
    for (boolean up : List.of(true, false)) {
      assertThat(check(waiting(up), remote(true, state))).contains(Reason.ABORTED);
      pass(NOTICES.minusMillis(1));
      assertThat(check(waiting(up), remote(true, state))).contains(Reason.ABORTED);
      pass(Duration.ofMillis(1));
      assertThat(check(waiting(up), remote(true, state))).contains(Reason.FAILED_PRECONDITION);
      refused.forget(ID);
    }
  }

  @ParameterizedTest
  @EnumSource(
      names = {"STOPPED", "REPLAYING"},
      mode = EnumSource.Mode.EXCLUDE)
  void withoutADaemonHereNobodyKnowsWhetherAllIsCopied(State state) {
    for (int call = 0; call < 3; call++) {
      assertThat(check(waiting(false), remote(true, state))).contains(Reason.ABORTED);
      assertThat(check(remote(true, state))).contains(Reason.ABORTED);
      pass(Duration.ofHours(1));
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatNoOtherSiteIsAgainstIsPromoted(State state) {
    assertThat(check()).isEmpty();
    assertThat(check(waiting(true))).isEmpty();
    assertThat(check(waiting(false))).isEmpty();
    assertThat(check(waiting(true), remote(false, state))).isEmpty();
    assertThat(check(waiting(false), remote(false, state))).isEmpty();
    if (state != State.STOPPED && state != State.REPLAYING) {
      assertThat(check(waiting(true), remote(true, state))).isEmpty();
    }
  }

  @ParameterizedTest
  @CsvSource({"true, true", "true, false", "false, true", "false, false"})
  void theLastWritesOfADemotedSiteAreWaitedFor(boolean here, boolean there) {
    for (int call = 0; call < 3; call++) {
      assertThat(refuse(local(here, IDLE), remote(there, State.UNKNOWN))).isEqualTo(Reason.ABORTED);
      pass(Duration.ofHours(1));
    }
  }

  /** The daemon there died before it noticed the demotion, or its word is gone. */
  @ParameterizedTest
  @EnumSource
  void theDaemonHereTellsOfADemotionToo(State state) {
    for (int call = 0; call < 3; call++) {
      assertThat(refuse(waiting(true), remote(false, state))).isEqualTo(Reason.ABORTED);
      assertThat(refuse(waiting(true))).isEqualTo(Reason.ABORTED);
      pass(Duration.ofHours(1));
    }
  }

  @ParameterizedTest
  @EnumSource(names = "UNKNOWN", mode = EnumSource.Mode.EXCLUDE)
  void theDaemonHereIsNotBelievedAgainstOneThere(State state) {
    assertThat(refuse(waiting(true), remote(true, state))).isEqualTo(Reason.ABORTED);
    pass(NOTICES);
    assertThat(refuse(waiting(true), remote(true, state))).isEqualTo(Reason.FAILED_PRECONDITION);
  }

  @ParameterizedTest
  @EnumSource(names = "UNKNOWN", mode = EnumSource.Mode.EXCLUDE)
  void aDaemonIsBelievedOnceItMustHaveNoticedADemotion(State state) {
    MirrorSite there = remote(true, state);
    assertThat(refuse(local(true, IDLE), there)).isEqualTo(Reason.ABORTED);
    pass(NOTICES.minusMillis(1));
    assertThat(refuse(local(true, IDLE), there)).isEqualTo(Reason.ABORTED);
    pass(Duration.ofMillis(1));
    assertThat(refuse(local(true, IDLE), there)).isEqualTo(Reason.FAILED_PRECONDITION);
    refused.forget(ID);
    assertThat(refuse(local(true, IDLE), there)).isEqualTo(Reason.ABORTED);
    pass(NOTICES.multipliedBy(20));
    assertThat(refuse(local(true, IDLE), there)).isEqualTo(Reason.ABORTED); // was long ago
  }

  @Test
  void refusalsOfLongAgoAreForgottenThoughTheyWereRepeated() {
    MirrorSite there = remote(true, State.STOPPED);
    assertThat(refuse(local(true, IDLE), there)).isEqualTo(Reason.ABORTED);
    for (int call = 1; call < 20; call++) {
      pass(NOTICES);
      assertThat(refuse(local(true, IDLE), there)).isEqualTo(Reason.FAILED_PRECONDITION);
    }
    pass(NOTICES);
    assertThat(refuse(local(true, IDLE), there)).isEqualTo(Reason.ABORTED);
  }

  @Test
  void aDemotionInBetweenBeginsAnew() {
    assertThat(refuse(local(true, IDLE), remote(true, State.STOPPED))).isEqualTo(Reason.ABORTED);
    pass(NOTICES);
    assertThat(refuse(local(true, IDLE), remote(true, State.UNKNOWN))).isEqualTo(Reason.ABORTED);
    assertThat(refuse(local(true, IDLE), remote(true, State.STOPPED))).isEqualTo(Reason.ABORTED);
  }

  private static String syncing(int percent) {
    return "replaying, {\"replay_state\":\"syncing\",\"syncing_percent\":" + percent + "}";
  }

  @ParameterizedTest
  @EnumSource(names = "UNKNOWN", mode = EnumSource.Mode.EXCLUDE)
  void aLostSiteIsNotWaitedForForLongWhereNobodyCopies(State state) {
    for (MirrorSite[] sites :
        List.of(
            with(local(false, IDLE), remote(false, state)),
            with(local(false, syncing(1)), remote(false, state)),
            with(waiting(false), remote(false, state)),
            new MirrorSite[0])) {
      assertThat(refuse(sites)).isEqualTo(Reason.ABORTED);
      pass(NOTICES.minusMillis(1));
      assertThat(refuse(sites)).isEqualTo(Reason.ABORTED);
      pass(Duration.ofMillis(1));
      assertThat(refuse(sites)).isEqualTo(Reason.FAILED_PRECONDITION);
      refused.forget(ID);
    }
  }

  /** The daemon here is being started again. */
  @Test
  void oneLookInBetweenWithoutADaemonForcesNothing() {
    assertThat(refuse(local(true, IDLE), remote(false, State.STOPPED))).isEqualTo(Reason.ABORTED);
    pass(Duration.ofSeconds(5));
    assertThat(refuse(local(false, IDLE), remote(false, State.STOPPED))).isEqualTo(Reason.ABORTED);
    assertThat(refuse(local(true, syncing(1)), remote(false, State.STOPPED)))
        .isEqualTo(Reason.ABORTED);
  }

  /** The other daemon may have died before it noticed, or its word be gone. */
  @ParameterizedTest
  @CsvSource({"true, STOPPED", "true, ERROR", "false,"})
  void aDemotedSiteWhoseDaemonIsDeadIsCopied(boolean known, @Nullable State state) {
    MirrorSite[] there =
        known ? new MirrorSite[] {remote(false, Objects.requireNonNull(state))} : new MirrorSite[0];
    assertThat(refuse(with(local(true, IDLE), there))).isEqualTo(Reason.ABORTED);
    pass(NOTICES.minusMillis(1));
    assertThat(refuse(with(local(true, IDLE), there))).isEqualTo(Reason.ABORTED);
    pass(Duration.ofMillis(1));
    assertThat(refuse(with(local(true, IDLE), there))).isEqualTo(Reason.FAILED_PRECONDITION);
  }

  private static MirrorSite[] with(MirrorSite here, MirrorSite... there) {
    return Stream.concat(Stream.of(here), Stream.of(there)).toArray(MirrorSite[]::new);
  }

  @Test
  void aCopyWithoutADaemonThereIsWaitedForAsLongAsItGoesOn() {
    MirrorSite there = remote(false, State.STOPPED);
    Duration step = NOTICES.minusMillis(1);
    for (int percent = 0; percent < 10; percent++) {
      assertThat(refuse(local(true, syncing(percent)), there)).isEqualTo(Reason.ABORTED);
      pass(step);
      assertThat(refuse(local(true, syncing(percent)), there)).isEqualTo(Reason.ABORTED);
    }
    pass(Duration.ofMillis(10));
    assertThat(refuse(local(true, syncing(99)), there)).isEqualTo(Reason.FAILED_PRECONDITION);
  }

  private static String behind(int entries) {
    return "replaying, {\"entries_behind_primary\":" + entries + "}";
  }

  @Test
  void aCopyThatStandsStillWithoutADaemonThereIsNotWaitedFor() {
    MirrorSite there = remote(false, State.STOPPED);
    assertThat(refuse(local(true, behind(3)), there)).isEqualTo(Reason.ABORTED);
    pass(NOTICES.dividedBy(2));
    assertThat(refuse(local(true, behind(2)), there)).isEqualTo(Reason.ABORTED);
    pass(NOTICES.minusMillis(1));
    assertThat(refuse(local(true, behind(2)), there)).isEqualTo(Reason.ABORTED);
    pass(Duration.ofMillis(1));
    assertThat(refuse(local(true, behind(2)), there)).isEqualTo(Reason.FAILED_PRECONDITION);
    pass(NOTICES);
    assertThat(refuse(local(false, behind(1)), there)).isEqualTo(Reason.FAILED_PRECONDITION);
  }

  /** The daemon copies five images at a time by default. */
  @Test
  void aCopyThatWaitsForItsTurnIsWaitedForButNotForEver() {
    MirrorSite there = remote(false, State.STOPPED);
    assertThat(refuse(local(true, syncing(0)), there)).isEqualTo(Reason.ABORTED);
    pass(NOTICES.multipliedBy(10).minusMillis(1));
    assertThat(refuse(local(true, syncing(0)), there)).isEqualTo(Reason.ABORTED);
    pass(Duration.ofMillis(1));
    assertThat(refuse(local(true, syncing(0)), there)).isEqualTo(Reason.FAILED_PRECONDITION);
  }

  @Test
  void aDaemonThatIsStartedAgainWhileItCopiesIsWaitedFor() {
    MirrorSite there = remote(false, State.STOPPED);
    assertThat(refuse(local(true, syncing(0)), there)).isEqualTo(Reason.ABORTED);
    pass(NOTICES.multipliedBy(5));
    assertThat(refuse(local(true, syncing(1)), there)).isEqualTo(Reason.ABORTED);
    pass(NOTICES.minusMillis(1));
    assertThat(refuse(local(false, syncing(1)), there)).isEqualTo(Reason.ABORTED);
    assertThat(refuse(there)).isEqualTo(Reason.ABORTED);
    pass(Duration.ofMillis(1));
    assertThat(refuse(local(false, syncing(1)), there)).isEqualTo(Reason.FAILED_PRECONDITION);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "replaying, {\"local_snapshot_timestamp\":20,\"replay_state\":\"syncing\"}",
        "replaying, {\"local_snapshot_timestamp\":20,\"remote_snapshot_timestamp\":21,"
            + "\"replay_state\":\"idle\"}",
        "replaying, {\"entries_behind_primary\":1}"
      })
  void aCopyThatIsBeingMadeIsWaitedForLongerButNotForEver(String description) {
    MirrorSite there = remote(true, State.STOPPED);
    assertThat(refuse(local(true, description), there)).isEqualTo(Reason.ABORTED);
    pass(NOTICES.multipliedBy(10).minusMillis(1));
    assertThat(refuse(local(true, description), there)).isEqualTo(Reason.ABORTED);
    pass(Duration.ofMillis(1));
    assertThat(refuse(local(true, description), there)).isEqualTo(Reason.FAILED_PRECONDITION);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "replaying", IDLE, "replaying, {\"entries_behind_primary\":0}"})
  void whoHasAllIsNotBehind(String description) {
    assertThat(SyncReport.of(description).behind()).isFalse();
  }

  private static Code codeOf(RuntimeException e) {
    return StatusTable.statusOf(e, StatusTable.Family.CSI_ADDONS).getStatus().getCode();
  }

  private static void assertNotToBeForced(RuntimeException e) {
    RuntimeException turned = RefusedPromotions.notToBeForced(e);
    assertThat(turned).hasMessage(e.getMessage());
    Code code = codeOf(e);
    assertThat(codeOf(turned)).isEqualTo(code == Code.FAILED_PRECONDITION ? Code.ABORTED : code);
  }

  @ParameterizedTest
  @EnumSource
  void nothingElseHasThePromotionForced(Reason reason) {
    assertNotToBeForced(new VolumeException(reason, "why"));
  }

  @ParameterizedTest
  @EnumSource
  void noErrorOfTheClusterHasThePromotionForced(Errno errno) {
    assertNotToBeForced(new CephException("opening", "image", -errno.number(), ""));
  }
}
