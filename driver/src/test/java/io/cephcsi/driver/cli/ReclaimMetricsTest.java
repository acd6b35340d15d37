package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.cephcsi.driver.reclaim.Discarded;
import io.cephcsi.driver.reclaim.ImageEstimate;
import io.cephcsi.driver.reclaim.TrimReport;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Metrics of what images of a pool would give. */
class ReclaimMetricsTest {
  private static final Instant NOW = Instant.ofEpochSecond(1_800_000_000);

  private static ImageEstimate skipped(String name, String reason) {
    return new ImageEstimate(
        "id-" + name,
        name,
        new TrimReport(reason, "detail", "", Discarded.NOTHING, Optional.empty()));
  }

  private static List<String> lines(List<ImageEstimate> images, int most) {
    return new ReclaimMetrics("rbd", "", images)
        .text(most, NOW)
        .lines()
        .filter(line -> !line.startsWith("#"))
        .toList();
  }

  @Test
  void thoseThatGiveMostHaveASeriesAndAllAreSummedUp() {
    List<ImageEstimate> images =
        List.of(
            PoolStates.image("little", 100),
            PoolStates.image("much", 300),
            PoolStates.image("some", 200),
            skipped("used", "in_use"),
            skipped("other", "in_use"));
    assertThat(lines(images, 2))
        .containsExactly(
            "ceph_csi_reclaimable_image_bytes{pool=\"rbd\",rados_namespace=\"\",image=\"much\"} 300",
            "ceph_csi_reclaimable_image_bytes{pool=\"rbd\",rados_namespace=\"\",image=\"some\"} 200",
            "ceph_csi_reclaimable_pool_bytes{pool=\"rbd\",rados_namespace=\"\"} 600",
            "ceph_csi_reclaimable_images{pool=\"rbd\",rados_namespace=\"\",skipped=\"in_use\"} 2",
            "ceph_csi_reclaimable_images{pool=\"rbd\",rados_namespace=\"\",skipped=\"none\"} 3",
            "ceph_csi_reclaimable_estimated_seconds{pool=\"rbd\",rados_namespace=\"\"} 1800000000");
    assertThat(lines(images, 0)).hasSize(4);
  }

  @Test
  void whatIsTrimmedIsNotThereAnyMore() throws Exception {
    try (PoolState state = PoolState.open(Optional.empty(), java.util.Map.of())) {
      ImageEstimate done = PoolStates.image("done", 100);
      ImageEstimate failed = PoolStates.image("failed", 200);
      state.add(done);
      state.add(failed);
      state.record(done, PoolOutcome.without(PoolOutcome.Kind.DONE, ""));
      state.record(failed, PoolOutcome.without(PoolOutcome.Kind.FAILED, "why"));
      assertThat(ReclaimMetrics.of("rbd", "", state.estimates(), state).left())
          .containsExactly(failed);
    }
  }

  @Test
  void theNumberOfSeriesIsBoundedAndEachIsThereOnce() {
    List<ImageEstimate> images = new ArrayList<>();
    IntStream.range(0, 1000).forEach(i -> images.add(PoolStates.image("image-" + i, 1000 + i)));
    assertThat(lines(images, Integer.MAX_VALUE)).hasSize(ReclaimMetrics.MOST_IMAGES + 3);
    List<String> twice =
        lines(
            List.of(
                PoolStates.image("x".repeat(300) + "1", 10),
                PoolStates.image("x".repeat(300) + "2", 20)),
            10);
    Set<String> names = new HashSet<>();
    twice.forEach(line -> assertThat(names.add(line.replaceAll(" \\d+$", ""))).isTrue());
    assertThat(twice.get(0)).endsWith(" 30");
  }

  @Test
  void hostileNamesStayInTheirLabel() {
    List<String> lines = lines(List.of(PoolStates.image("a\"} 1\nceph_csi_evil{x=\"\\", 100)), 10);
    assertThat(lines).hasSize(4);
    assertThat(lines.get(0)).contains("image=\"a\\\"} 1\\\\nceph_csi_evil{x=\\\"\\\\\"} 100");
  }

  @ParameterizedTest
  @CsvSource({
    "--metrics-file=a.prom, need --pool",
    "--pool=rbd --metrics-images=5, --metrics-images needs --metrics-file",
    "--pool=rbd --metrics-file=a.prom --metrics-images=501, --metrics-images must be 0 to 500",
    "--pool=rbd --metrics-file=/nonesuch/a.prom, cannot be written"
  })
  void wrongOptionsAreRefused(String options, String said) {
    List<String> args = new ArrayList<>(List.of("reclaim"));
    args.addAll(List.of(options.split(" ", -1)));
    Program program = Program.run(args.toArray(new String[0]));
    assertThat(program.exitCode()).as(program.err()).isEqualTo(2);
    assertThat(program.err()).contains(said);
  }

  @Test
  void theExamplesCallTheCommandAndUseItsMetrics() throws Exception {
    ObjectMapper yaml = new ObjectMapper(new YAMLFactory());
    JsonNode container =
        yaml.readTree(Path.of("deploy/examples/reclaimable-cronjob.yaml").toFile())
            .at("/spec/jobTemplate/spec/template/spec/containers/0");
    List<String> args = new ArrayList<>();
    container.path("args").forEach(arg -> args.add(arg.asText()));
    assertThat(container.path("command").get(1).asText()).isEqualTo("reclaim");
    CommandLine.ParseResult parsed =
        new CommandLine(new ReclaimCommand()).parseArgs(args.toArray(new String[0]));
    assertThat(parsed.hasMatchedOption("--dry-run")).isTrue();
    assertThat(parsed.hasMatchedOption("--metrics-file")).isTrue();
    String rule = Path.of("deploy/examples/reclaimable-rule.yaml").toString();
    String expression =
        yaml.readTree(Path.of(rule).toFile()).at("/spec/groups/0/rules/0/expr").asText();
    assertThat(expression).contains("ceph_csi_reclaimable_image_bytes", "csi_volume_handle");
  }
}
