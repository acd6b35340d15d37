package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code ceph-csi bench reclaim} on a real cluster. */
class BenchReclaimIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final long OBJECT_BYTES = 4 << 20;

  private static Program bench(String... more) {
    List<String> args =
        new ArrayList<>(
            List.of(
                "bench",
                "reclaim",
                "--conf=" + CLUSTER.conf(),
                "--pool=" + CLUSTER.otherPool(),
                "--size=256M"));
    args.addAll(List.of(more));
    return Program.run(args.toArray(new String[0]));
  }

  private static void nothingIsLeft() {
    assertThat(CLUSTER.rbd("ls", CLUSTER.otherPool())).doesNotContain("csi-bench-");
  }

  @ParameterizedTest
  @ValueSource(strings = {"trim", "sparsify"})
  void everyPointFreesWhatWasFilled(String method) throws IOException {
    Program program =
        bench("--method=" + method, "--fill=50", "--concurrency=2,16", "--output=json");
    assertThat(program.exitCode()).as(program.err()).isZero();
    JsonNode points = new ObjectMapper().readTree(program.out()).get("points");
    assertThat(points).hasSize(2);
    for (JsonNode point : points) {
      assertThat(point.get("objects").asInt()).isGreaterThan(16);
      assertThat(point.get("freedBytes").asLong())
          .isEqualTo(point.get("objects").asLong() * OBJECT_BYTES);
      assertThat(point.get("objectsPerSecond").asDouble()).isPositive();
    }
    assertThat(points.get(0).get("concurrency").asInt()).isEqualTo(2);
    nothingIsLeft();
  }

  @Test
  void theTableHasALineForEachPoint() {
    Program program = bench("--fill=20", "--concurrency=4", "--max-bytes-per-second=0,104857600");
    assertThat(program.exitCode()).as(program.err()).isZero();
    assertThat(program.out().lines()).hasSize(3);
    assertThat(program.out()).contains("objects/s", "100.0 MiB/s", "#");
    nothingIsLeft();
  }

  @ParameterizedTest
  @CsvSource({
    "--size=10, --size",
    "--size=5M, --size",
    "--fill=0, --fill",
    "--method=both, --method",
    "--concurrency=0, reclaim.concurrency",
    "--max-bytes-per-second=5, reclaim.maxBytesPerSecond"
  })
  void wrongOptionsAreRefused(String option, String named) {
    Program program = bench(option);
    assertThat(program.exitCode()).isEqualTo(2);
    assertThat(program.err()).contains(named);
    nothingIsLeft();
  }

  @Test
  void aPoolThatIsNotThereIsAnError() {
    Program program =
        Program.run("bench", "reclaim", "--conf=" + CLUSTER.conf(), "--pool=nonesuch");
    assertThat(program.exitCode()).isEqualTo(1);
    assertThat(program.err()).contains("nonesuch");
  }
}
