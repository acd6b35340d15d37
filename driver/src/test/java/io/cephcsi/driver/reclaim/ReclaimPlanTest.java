package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReclaimPlanTest {
  @Test
  void nothingSaidIsTheDefault() {
    ReclaimPlan plan = ReclaimPlan.parse(Map.of());
    assertThat(plan).isEqualTo(ReclaimPlan.DEFAULT);
    assertThat(plan.dryRun()).isFalse();
    assertThat(plan.sparseSize()).isZero();
    assertThat(plan.failInUse()).isFalse();
  }

  @Test
  void allParametersAreRead() {
    ReclaimPlan plan =
        ReclaimPlan.parse(
            Map.of(
                "reclaim.dryRun", "true",
                "reclaim.sparseSize", "65536",
                "reclaim.exactUsage", "True",
                "reclaim.concurrency", "16",
                "reclaim.inUse", "fail",
                "reclaim.method", "sparsify"));
    assertThat(plan.dryRun()).isTrue();
    assertThat(plan.sparseSize()).isEqualTo(65536);
    assertThat(plan.exactUsage()).isTrue();
    assertThat(plan.concurrency()).isEqualTo(16);
    assertThat(plan.failInUse()).isTrue();
  }

  @Test
  void parametersOfOthersAreIgnored() {
    assertThat(ReclaimPlan.parse(Map.of("pool", "rbd", "Reclaim.x", "1", "reclaim", "2", "", "")))
        .isEqualTo(ReclaimPlan.DEFAULT);
  }

  @ParameterizedTest
  @CsvSource({
    "reclaim.dryRun, yes",
    "reclaim.dryRun, ''",
    "reclaim.exactUsage, on",
    "reclaim.sparseSize, 4095",
    "reclaim.sparseSize, 2048",
    "reclaim.sparseSize, 4097",
    "reclaim.sparseSize, 67108864",
    "reclaim.sparseSize, -4096",
    "reclaim.sparseSize, 4k",
    "reclaim.sparseSize, 99999999999999999999",
    "reclaim.concurrency, 0",
    "reclaim.concurrency, -1",
    "reclaim.concurrency, 1025",
    "reclaim.concurrency, 4294967297",
    "reclaim.concurrency, many",
    "reclaim.maxBytesPerSecond, 1000",
    "reclaim.maxBytesPerSecond, -1",
    "reclaim.maxBytesPerSecond, fast",
    "reclaim.inUse, wait",
    "reclaim.method, defrag",
    "reclaim.unknown, 1",
    "reclaim., 1",
    "reclaim.dryrun, true"
  })
  void whatCannotBeMeantIsRefusedByName(String key, String value) {
    assertThatThrownBy(() -> ReclaimPlan.parse(Map.of(key, value)))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining(key);
  }

  @ParameterizedTest
  @CsvSource({
    "reclaim.sparseSize, 4096",
    "reclaim.sparseSize, 33554432",
    "reclaim.sparseSize, ' 8192 '",
    "reclaim.concurrency, 1",
    "reclaim.concurrency, 1024",
    "reclaim.maxBytesPerSecond, 1048576",
    "reclaim.inUse, skip",
    "reclaim.method, both",
    "reclaim.dryRun, FALSE"
  })
  void theBoundsAreAllowed(String key, String value) {
    assertThat(ReclaimPlan.parse(Map.of(key, value))).isNotNull();
  }

  @Test
  void plansWithTheSameMeaningHaveTheSameText() {
    // The text tells the requests of retries apart.
    assertThat(ReclaimPlan.parse(Map.of("reclaim.concurrency", "8", "reclaim.method", "both")))
        .hasToString(ReclaimPlan.parse(Map.of("reclaim.concurrency", "08")).toString());
    assertThat(ReclaimPlan.parse(Map.of("reclaim.dryRun", "true")).toString())
        .isNotEqualTo(ReclaimPlan.DEFAULT.toString());
  }
}
