package io.cephcsi.driver.rbd.parameters;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rbd.MirrorMode;
import io.cephcsi.driver.volume.VolumeException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReplicationParametersTest {
  private static void assertRefused(String key, Map<String, String> parameters) {
    assertThatThrownBy(() -> ReplicationParameters.parse(parameters))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.INVALID_ARGUMENT))
        .hasMessageContaining(key);
  }

  @Test
  void snapshotsWithoutAScheduleAreTheDefault() {
    assertThat(ReplicationParameters.parse(Map.of("replication.storage.openshift.io/x", "y")))
        .isEqualTo(new ReplicationParameters(MirrorMode.SNAPSHOT, false, false, Optional.empty()));
  }

  @Test
  void allThatIsGivenIsRead() {
    assertThat(
            ReplicationParameters.parse(
                Map.of(
                    "mirroringMode", "snapshot",
                    "flattenMode", "force",
                    "force", "T",
                    "schedulingInterval", "90m",
                    "schedulingStartTime", "14:00:00-05:00")))
        .isEqualTo(
            new ReplicationParameters(
                MirrorMode.SNAPSHOT,
                true,
                true,
                Optional.of(new MirrorSchedule("90m", Optional.of("14:00:00-05:00")))));
  }

  @Test
  void aJournalNeedsNoSchedule() {
    assertThat(
            ReplicationParameters.parse(
                Map.of("mirroringMode", "journal", "schedulingInterval", "5m")))
        .isEqualTo(new ReplicationParameters(MirrorMode.JOURNAL, false, false, Optional.empty()));
    assertRefused(
        "schedulingInterval", Map.of("mirroringMode", "journal", "schedulingInterval", "5x"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      ignoreLeadingAndTrailingWhitespace = false,
      value = {
        "mirroringMode|Snapshot",
        "mirroringMode|''",
        "flattenMode|always",
        "flattenMode|''",
        "force|yes",
        "schedulingInterval|''",
        "schedulingInterval|5",
        "schedulingInterval|5s",
        "schedulingInterval|0m",
        "schedulingInterval|-1m",
        "schedulingInterval| 5m",
        "schedulingInterval|9999999m",
        "schedulingInterval|5 m"
      })
  void whatIsWrongIsNamed(String key, String value) {
    assertRefused(key, Map.of(key, value));
  }

  @ParameterizedTest
  @CsvSource({
    "60m, 1h",
    "1440m, 1d",
    "24h, 1d",
    "25h, 25h",
    "90m, 90m",
    "7d, 7d",
    "05m, 5m",
    "999999d, 999999d"
  })
  void anIntervalIsWrittenAsTheManagerDoes(String given, String written) {
    assertThat(MirrorSchedule.of(given, Optional.empty()).interval()).isEqualTo(written);
  }

  @ParameterizedTest
  @CsvSource({
    "14:00, 14:00:00",
    "14:00:30, 14:00:00",
    "14:00:00-05:00, 14:00:00-05:00",
    "14:00Z, 14:00:00+00:00",
    "2020-01-02T03:04:05+02:00, 03:04:00+02:00",
    "2020-01-02T03:04, 03:04:00"
  })
  void aStartTimeIsWrittenAsTheManagerDoes(String given, String written) {
    assertThat(MirrorSchedule.of("1d", Optional.of(given)).startTime()).contains(written);
  }

  @ParameterizedTest
  @CsvSource({"noon", "25:00", "''", "14:00:00-05:00x", "2020-01-02"})
  void aStartTimeThatIsNoneIsRefused(String time) {
    Map<String, String> parameters = new HashMap<>(Map.of("schedulingStartTime", time));
    assertRefused("schedulingInterval", parameters); // it is missing
    parameters.put("schedulingInterval", "1d");
    assertRefused("schedulingStartTime", parameters);
  }
}
