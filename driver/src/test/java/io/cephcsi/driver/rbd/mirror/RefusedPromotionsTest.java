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
import java.util.Optional;
import java.util.UUID;
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

  @ParameterizedTest
  @CsvSource({
    "true, true, ABORTED",
    "true, false, ABORTED",
    "false, true, ABORTED",
    "false, false, FAILED_PRECONDITION"
  })
  void theLastWritesOfADemotedSiteAreWaitedFor(boolean here, boolean there, Reason reason) {
    for (int call = 0; call < 3; call++) {
      assertThat(refuse(local(here, IDLE), remote(there, State.UNKNOWN))).isEqualTo(reason);
      pass(Duration.ofHours(1));
    }
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
  void aDemotionInBetweenBeginsAnew() {
    assertThat(refuse(local(true, IDLE), remote(true, State.STOPPED))).isEqualTo(Reason.ABORTED);
    pass(NOTICES);
    assertThat(refuse(local(true, IDLE), remote(true, State.UNKNOWN))).isEqualTo(Reason.ABORTED);
    assertThat(refuse(local(true, IDLE), remote(true, State.STOPPED))).isEqualTo(Reason.ABORTED);
  }

  @ParameterizedTest
  @EnumSource(names = "UNKNOWN", mode = EnumSource.Mode.EXCLUDE)
  void aLostSiteIsNotWaitedFor(State state) {
    assertThat(refuse(local(true, IDLE.replace("idle", "syncing")), remote(false, state)))
        .isEqualTo(Reason.FAILED_PRECONDITION);
    assertThat(refuse(local(false, IDLE), remote(false, state)))
        .isEqualTo(Reason.FAILED_PRECONDITION);
    assertThat(refuse()).isEqualTo(Reason.FAILED_PRECONDITION);
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
