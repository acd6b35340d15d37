package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code ceph-csi bench reclaim} on a real cluster. */
class BenchReclaimIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final long OBJECT_BYTES = 4 << 20;

  @TempDir private Path folder;

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
  void theReportHasLatenciesCpuAndWhatTheOsdsCount() throws IOException {
    Path file = Files.writeString(folder.resolve("report.html"), "of before");
    Program program = bench("--fill=50", "--concurrency=2,16", "--report=" + file);
    assertThat(program.exitCode()).as(program.err()).isZero();
    BenchReport report = BenchReport.read(file);
    assertThat(report.notes()).isEmpty();
    assertThat(report.setup()).containsEntry("size", "256M").containsEntry("fill", "50 %");
    assertThat(report.setup().get("ceph")).startsWith("ceph version ");
    assertThat(report.points())
        .extracting(BenchPoint::sharePercent)
        .containsExactly(0, 0, 25, 50, 75);
    for (BenchPoint point : report.points()) {
      Latencies latencies = point.latencies().orElseThrow();
      assertThat(latencies.count()).isPositive(); // several objects can be one range
      assertThat(latencies.p50()).isPositive().isLessThanOrEqualTo(latencies.p99());
      assertThat(latencies.max()).isLessThan(1e3 * point.seconds());
      assertThat(point.osd()).containsKey("osd.op_latency");
      assertThat(point.osd().get("osd.op_latency").count()).isPositive();
    }
    BenchPoint quarter = report.points().get(2);
    assertThat((double) quarter.maxBytesPerSecond())
        .isLessThan(report.points().get(1).rate() * OBJECT_BYTES);
    assertThat(Program.run("bench", "compare", file.toString(), file.toString()).exitCode())
        .isZero();
    try (Stream<Path> files = Files.list(folder)) {
      assertThat(files).containsExactly(file); // nothing half written is left
    }
    nothingIsLeft();
  }

  @Test
  void theReportOfSparsifySaysWhyItHasNoLatencies() {
    Path file = folder.resolve("report.html");
    Program program =
        bench("--method=sparsify", "--fill=20", "--concurrency=4", "--report=" + file);
    assertThat(program.exitCode()).as(program.err()).isZero();
    BenchReport report = BenchReport.read(file);
    assertThat(report.points()).hasSize(1);
    assertThat(report.points().get(0).latencies()).isEmpty();
    assertThat(report.notes()).anyMatch(note -> note.contains("no latencies"));
  }

  @Test
  void aReportThatCannotBeWrittenIsRefusedBeforeAnythingIsMade() {
    Program program = bench("--report=" + folder.resolve("absent/report.html"));
    assertThat(program.exitCode()).isEqualTo(2);
    assertThat(program.err())
        .contains("absent/report.html cannot be written")
        .doesNotContain("image is");
    assertThat(bench("--report=" + folder).exitCode()).isEqualTo(2);
    nothingIsLeft();
  }

  @Test
  void tooManyLoadsAreRefused() {
    String many = "1" + ",2".repeat(60);
    Program program = bench("--concurrency=" + many, "--max-bytes-per-second=0,1048576");
    assertThat(program.exitCode()).isEqualTo(2);
    assertThat(program.err()).contains("122 loads; at most 100");
  }

  @Test
  void whatIsFilledWhenTheProcessIsTerminatedIsRemoved() throws Exception {
    Path err = folder.resolve("err");
    long before = CLUSTER.rados("ls", "-p", CLUSTER.otherPool()).lines().count();
    Process process =
        Program.start(
            folder.resolve("out"),
            err,
            "bench",
            "reclaim",
            "--conf=" + CLUSTER.conf(),
            "--pool=" + CLUSTER.otherPool(),
            "--size=1T", // takes minutes to fill
            "--fill=100",
            "--object-data=4096",
            "--method=sparsify");
    try {
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .until(
              () -> CLUSTER.rados("ls", "-p", CLUSTER.otherPool()).lines().count() > before + 50);
      long start = System.nanoTime();
      process.destroy();
      assertThat(process.waitFor(120, TimeUnit.SECONDS)).isTrue();
      System.out.printf(
          "bench reclaim ended %d ms after SIGTERM%n", (System.nanoTime() - start) / 1_000_000);
    } finally {
      process.destroyForcibly();
    }
    assertThat(Files.readString(err)).contains("the image is ").doesNotContain("Exception");
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
