package io.cephcsi.driver.rbd.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorSite.State;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.driver.rbd.mirror.ReplicationInfo.Health;
import io.cephcsi.driver.volume.VolumeException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ReplicationInfoTest {
  private static final String REPLAYING =
      "replaying, {\"bytes_per_second\":0.0,\"bytes_per_snapshot\":81920.0,"
          + "\"last_snapshot_bytes\":81920,\"last_snapshot_sync_seconds\":3,"
          + "\"local_snapshot_timestamp\":1684675261,\"remote_snapshot_timestamp\":1684675261,"
          + "\"replay_state\":\"idle\"}";

  private static MirrorSite remote(boolean up, State state, String description) {
    return new MirrorSite("uuid", state, description, Instant.EPOCH, up);
  }

  private static ReplicationInfo info(MirrorSite... sites) {
    return ReplicationInfo.of("volume v", new MirrorStatus(Optional.empty(), List.of(sites)));
  }

  private static void assertNotKnown(MirrorSite... sites) {
    assertThatThrownBy(() -> info(sites))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.NOT_FOUND));
  }

  @Test
  void theDescriptionOfACopyIsRead() {
    assertThat(info(remote(true, State.REPLAYING, REPLAYING)))
        .isEqualTo(
            new ReplicationInfo(
                Instant.ofEpochSecond(1_684_675_261),
                Optional.of(Duration.ofSeconds(3)),
                81_920,
                Health.HEALTHY,
                "up+replaying (replaying)"));
    assertThat(SyncReport.of(REPLAYING).idle()).isTrue();
    assertThat(SyncReport.of(REPLAYING.replace("idle", "syncing")).idle()).isFalse();
  }

  @Test
  void figuresThatAreMissingAreLeftOut() {
    ReplicationInfo info =
        info(remote(true, State.REPLAYING, "x, {\"local_snapshot_timestamp\": 1}"));
    assertThat(info.duration()).isEmpty();
    assertThat(info.bytes()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "true, REPLAYING, HEALTHY", "true, STOPPED, HEALTHY", "true, ERROR, ERROR",
    "true, SYNCING, UNKNOWN", "true, UNKNOWN, UNKNOWN", "true, STARTING_REPLAY, UNKNOWN",
    "true, STOPPING_REPLAY, UNKNOWN", "false, REPLAYING, DEGRADED", "false, ERROR, DEGRADED"
  })
  void aDaemonThatIsDownIsNotTakenForOneThatCopies(boolean up, State state, Health health) {
    assertThat(info(remote(up, state, REPLAYING)).health()).isEqualTo(health);
  }

  @Test
  void ofSeveralSitesTheOldestCopyAndTheWorstHealthCount() {
    ReplicationInfo info =
        info(
            remote(false, State.REPLAYING, REPLAYING),
            remote(true, State.REPLAYING, REPLAYING.replace("1684675261", "1684670000")),
            new MirrorSite("", State.STOPPED, "local image is primary", Instant.EPOCH, true));
    assertThat(info.lastSync()).isEqualTo(Instant.ofEpochSecond(1_684_670_000));
    assertThat(info.health()).isEqualTo(Health.DEGRADED);
    assertThat(info.message()).startsWith("down+");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "replaying",
        "replaying, ",
        "replaying, {",
        "replaying, []",
        "error, with words",
        "replaying, {\"local_snapshot_timestamp\": 0}",
        "replaying, {\"local_snapshot_timestamp\": -1}",
        "replaying, {\"local_snapshot_timestamp\": 1e99}",
        "replaying, {\"local_snapshot_timestamp\": 99999999999999999999}",
        "replaying, {\"local_snapshot_timestamp\": 9223372036854775807}",
        "replaying, {\"local_snapshot_timestamp\": \"1684675261\"}",
        "replaying, {\"entries_behind_primary\": 0, \"primary_position\": {\"tag_tid\": 1}}"
      })
  void withoutATimeNoCopyIsKnown(String description) {
    assertNotKnown(remote(true, State.REPLAYING, description));
    assertNotKnown(
        remote(true, State.REPLAYING, REPLAYING), remote(true, State.REPLAYING, description));
  }

  @Test
  void theOwnSiteIsNoCopy() {
    assertNotKnown();
    assertNotKnown(new MirrorSite("", State.REPLAYING, REPLAYING, Instant.EPOCH, true));
  }

  @Test
  void theTimeOfCreationIsWrittenAsCephCsiDoes() {
    assertThat(CreationMark.value(Instant.ofEpochSecond(1_692_879_841, 631_526_669)))
        .isEqualTo("seconds:1692879841 nanos:631526669");
  }
}
