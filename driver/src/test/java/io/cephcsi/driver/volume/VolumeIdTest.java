package io.cephcsi.driver.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class VolumeIdTest {
  private static final String UUID_TEXT = "d006837f-8023-4d3f-9c17-7264f6ccbe95";
  private static final UUID SOME = UUID.fromString(UUID_TEXT);

  static List<String> goldenIds() {
    return Stream.of("volume_id", "snapshot_id", "source_volume_id", "csi.volume.backingsnapshotid")
        .flatMap(field -> Golden.values(field).stream())
        .distinct()
        .toList();
  }

  @Test
  void thereAreGoldenIds() {
    assertThat(goldenIds()).hasSizeGreaterThan(6);
  }

  @ParameterizedTest
  @MethodSource("goldenIds")
  void idsOfCephCsiAreReadAndWrittenTheSame(String text) {
    VolumeId id = VolumeId.parse(text).orElseThrow();
    assertThat(id.clusterId()).isEqualTo("bar");
    assertThat(id.location()).isEqualTo(1);
    assertThat(id.uuid()).hasToString(text.substring(text.length() - 36));
    assertThat(id).hasToString(text);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "not-an-id",
        "0001",
        "0001-",
        "0001-0003-bar",
        "0001-0003-bar-0000000000000001-",
        "0001-0003-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe9", // short uuid
        "0001-0003-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe955", // long uuid
        "0001-0003-bar-000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95", // short location
        "0001-0003-bar-00000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95", // long location
        "0001-0002-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95", // wrong length
        "0001-0004-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "0001-ffff-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "0001-8003-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "0001-0000--0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95", // no clusterID
        "0002-0003-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95", // other version
        "0000-0003-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "0001_0003-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95", // separators
        "0001-0003_bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "0001-0003-bar_0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "0001-0003-bar-0000000000000001_d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "0001-0003-bar-0000000000000001-d006837f_8023-4d3f-9c17-7264f6ccbe95",
        "0001-0003-bar-0000000000000001-d006837f8-023-4d3f-9c17-7264f6ccbe95", // uuid's hyphens
        "0001-00g3-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95", // not hex
        "0001-0003-bar-000000000000000g-d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "0001-0003-bar-0000000000000001-g006837f-8023-4d3f-9c17-7264f6ccbe95",
        "0001-0003-bar--000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "0001-0003-bar-+000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95",
        " 0001-0003-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95", // blanks
        "0001-0003-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95 ",
        "0001-0003-bar-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95\n",
        "0001-0003-b\ud800-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95", // no character
      })
  void whatIsNotAnIdIsNoVolume(String text) {
    assertThat(VolumeId.parse(text)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "0001-0003-bar-000000000000000A-d006837f-8023-4d3f-9c17-7264f6ccbe95",
        "0001-0003-bar-0000000000000001-D006837F-8023-4D3F-9C17-7264F6CCBE95",
        "0001-000A-0123456789-0000000000000001-d006837f-8023-4d3f-9c17-7264f6ccbe95"
      })
  void upperCaseIsRefusedSoThatAnIdHasOneSpelling(String text) {
    assertThat(VolumeId.parse(text)).isEmpty();
    assertThat(VolumeId.parse(lowerCaseHex(text))).isPresent();
  }

  private static String lowerCaseHex(String text) {
    return text.toLowerCase(java.util.Locale.ROOT);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"a", "-", "a-b-0001-0003-bar", "Cluster/Nine 9", "ünïcödé", "集群", "🐙", "0001"})
  void everyClusterIdSurvivesTheRoundTrip(String clusterId) {
    for (long location : new long[] {0, 1, 255, Long.MAX_VALUE, -1, Long.MIN_VALUE}) {
      VolumeId id = new VolumeId(clusterId, location, SOME);
      assertThat(VolumeId.parse(id.toString())).contains(id);
    }
  }

  @Test
  void theLongestIdHasTheBytesThatCsiAllows() {
    String longest = "c".repeat(64);
    VolumeId id = new VolumeId(longest, 7, SOME);
    assertThat(id.toString()).hasSize(128).startsWith("0001-0040-ccc");
    assertThat(VolumeId.parse(id.toString())).contains(id);

    String bytes = "é".repeat(32); // 64 bytes in 32 characters
    assertThat(VolumeId.parse(new VolumeId(bytes, 7, SOME).toString())).isPresent();
    assertThat(
            VolumeId.parse(
                "0001-0041-" + "c".repeat(65) + "-0000000000000001-" + UUID_TEXT)) // 129 bytes
        .isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",
        "éééééééééééééééééééééééééééééééé!"
      })
  void aClusterIdThatNoIdCanHoldIsRefused(String clusterId) {
    assertThatThrownBy(() -> new VolumeId(clusterId, 1, SOME))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining("clusterID")
        .hasMessageContaining("64");
  }
}
