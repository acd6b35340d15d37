package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.driver.app.ConfigException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The page of a report, what is read back of it, and comparisons. */
class BenchReportTest {
  @TempDir private Path folder;

  private static BenchPoint point(int concurrency, int share, double seconds) {
    return new BenchPoint(
        concurrency,
        share * 1000L,
        share,
        100,
        seconds,
        400L << 20,
        0.5,
        OptionalDouble.of(1.5),
        Optional.of(new Latencies(100, 1, 2, 3, 4 * seconds)),
        Map.of("osd.op_w_latency", new OsdCounters.Time(100, 0.25)));
  }

  private static BenchReport report(double seconds) {
    return new BenchReport(
        Map.of("size", "1G", "method", "trim"),
        List.of(point(1, 0, 2 * seconds), point(16, 0, seconds), point(16, 50, 2 * seconds)),
        List.of("a note"));
  }

  private Path file(String name, BenchReport report) throws IOException {
    return Files.writeString(folder.resolve(name), BenchPage.of(report));
  }

  @Test
  void thePageIsReadBackAsItWas() throws IOException {
    BenchReport report = report(1);
    assertThat(BenchReport.read(file("a.html", report))).isEqualTo(report);
    BenchPoint bare =
        new BenchPoint(4, 0, 0, 1, 1, 0, 0, OptionalDouble.empty(), Optional.empty(), Map.of());
    BenchReport little = new BenchReport(Map.of(), List.of(bare), List.of());
    assertThat(BenchReport.read(file("b.html", little))).isEqualTo(little);
    BenchReport empty = new BenchReport(Map.of(), List.of(), List.of());
    assertThat(BenchReport.read(file("c.html", empty))).isEqualTo(empty);
  }

  @Test
  void thePageHasPlotsAndNeedsAndRunsNothing() {
    String page = BenchPage.of(report(1));
    assertThat(page.split("<svg", -1)).hasSizeGreaterThan(8);
    assertThat(page)
        .contains("throughput", "latency of a discard", "CPU (cores)", "osd.op_w_latency", "50 %");
    assertThat(page).doesNotContain("http:", "https:", "src=", "href=");
    assertThat(page.split("<script", -1)).hasSize(2);
    assertThat(page).contains("<script type=\"application/json\"", "default-src 'none'");
  }

  @Test
  void hostileTextStaysText() throws IOException {
    String hostile = "</script><script>alert(1)</script><img src=x>\"'&";
    BenchReport report =
        new BenchReport(Map.of("pool", hostile), report(1).points(), List.of(hostile));
    String page = BenchPage.of(report);
    assertThat(page).doesNotContain("<script>", "<img");
    assertThat(page.split("</script>", -1)).hasSize(2);
    assertThat(BenchReport.read(file("a.html", report))).isEqualTo(report);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "not a page",
        "<script type=\"application/json\" id=\"ceph-csi-bench\">{",
        "<script type=\"application/json\" id=\"ceph-csi-bench\">{</script>",
        "<script type=\"application/json\" id=\"ceph-csi-bench\">{}</script>",
        "<script type=\"application/json\" id=\"ceph-csi-bench\">[1]</script>",
        "<script type=\"application/json\" id=\"ceph-csi-bench\">"
            + "{\"format\":\"ceph-csi bench reclaim 2\"}</script>"
      })
  void whatIsNoReportIsRefused(String content) throws IOException {
    Path file = Files.writeString(folder.resolve("no.html"), content);
    assertThatThrownBy(() -> BenchReport.read(file))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("no.html is not a report of bench reclaim");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"seconds\":2.0 | \"seconds\":-1",
        "\"seconds\":2.0 | \"seconds\":1e999",
        "\"seconds\":2.0 | \"seconds\":0",
        "\"objects\":100 | \"objects\":\"many\"",
        "\"objects\":100 | \"objects\":99999999999999999999",
        "\"points\":[ | \"point\":[",
        "\"p50Millis\":1.0 | \"p50Millis\":null"
      })
  void damagedDataAreRefused(String right, String wrong) throws IOException {
    String page = BenchPage.of(report(1));
    assertThat(page).contains(right.strip());
    Path file =
        Files.writeString(folder.resolve("no.html"), page.replace(right.strip(), wrong.strip()));
    assertThatThrownBy(() -> BenchReport.read(file))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("no.html is not a report of bench reclaim");
  }

  @Test
  void aFolderAndAFileThatIsTooLongAreRefused() throws IOException {
    assertThatThrownBy(() -> BenchReport.read(folder)).isInstanceOf(ConfigException.class);
    Path large = folder.resolve("large.html");
    try (var channel =
        java.nio.channels.FileChannel.open(
            large,
            java.nio.file.StandardOpenOption.CREATE_NEW,
            java.nio.file.StandardOpenOption.WRITE)) {
      channel.write(java.nio.ByteBuffer.allocate(1), (16 << 20) + 1);
    }
    assertThatThrownBy(() -> BenchReport.read(large))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("more than");
  }

  @Test
  void twoReportsAreComparedByTheLoadsThatBothHave() throws IOException {
    Path before = file("before.html", report(2));
    BenchReport other =
        new BenchReport(
            Map.of("size", "2G", "method", "trim"),
            List.of(point(16, 0, 1), point(64, 0, 1)),
            List.of());
    Path after = file("after.html", other);
    Path page = folder.resolve("page.html");
    Program program =
        Program.run(
            "bench",
            "compare",
            before.toString(),
            after.toString(),
            "--report=" + page,
            "--output=json");
    assertThat(program.exitCode()).as(program.err()).isZero();
    assertThat(program.err())
        .contains(
            "size was 1G and is 2G",
            "concurrency 1, no limit: only in the first report",
            "concurrency 64, no limit: only in the second report");
    JsonNode rows = new ObjectMapper().readTree(program.out()).get("figures");
    assertThat(rows).hasSize(5);
    assertThat(rows.get(0).get("figure").asText()).isEqualTo("objects/s");
    assertThat(rows.get(0).get("before").asDouble()).isEqualTo(50);
    assertThat(rows.get(0).get("after").asDouble()).isEqualTo(100);
    assertThat(Files.readString(page)).contains("+100.0 %", "<svg").doesNotContain("<script");

    Program table = Program.run("bench", "compare", before.toString(), before.toString());
    assertThat(table.exitCode()).isZero();
    assertThat(table.err()).isEmpty();
    assertThat(table.out()).contains("16, 50 % of the most", "p99 ms", "+0.0 %");
  }

  @Test
  void wrongComparisonsAreRefused() throws IOException {
    Path report = file("a.html", report(1));
    String content = Files.readString(report);
    Path other = file("b.html", new BenchReport(Map.of(), List.of(point(2, 0, 1)), List.of()));
    assertExit(1, "no load in common", report.toString(), other.toString());
    assertExit(2, "AFTER.html", report.toString());
    assertExit(2, "absent.html", report.toString(), folder.resolve("absent.html").toString());
    assertExit(2, "another file", report.toString(), other.toString(), "--report=" + report);
    assertExit(
        2,
        "cannot be written",
        report.toString(),
        other.toString(),
        "--report=" + folder.resolve("absent/c.html"));
    assertExit(2, "--nonesuch", report.toString(), other.toString(), "--nonesuch");
    assertThat(report).hasContent(content.stripTrailing());
  }

  private static void assertExit(int code, String said, String... args) {
    String[] all = new String[args.length + 2];
    all[0] = "bench";
    all[1] = "compare";
    System.arraycopy(args, 0, all, 2, args.length);
    Program program = Program.run(all);
    assertThat(program.exitCode()).as(program.err()).isEqualTo(code);
    assertThat(program.err()).contains(said);
    assertThat(program.out()).isEmpty();
  }

  @Test
  void percentilesAreOfTheSortedFigures() {
    long[] nanos = new long[100];
    for (int i = 0; i < 100; i++) {
      nanos[i] = (100 - i) * 1_000_000L;
    }
    assertThat(Latencies.of(nanos)).isEqualTo(new Latencies(100, 50, 90, 99, 100));
    assertThat(Latencies.of(new long[] {2_000_000})).isEqualTo(new Latencies(1, 2, 2, 2, 2));
  }

  @Test
  void countersAreSummedUpOverOsdsAndSubtracted() throws IOException {
    String dump =
        "{\"osd\": {\"op\": 7, \"op_w_latency\": {\"avgcount\": %d, \"sum\": %s, \"avgtime\": 1},"
            + " \"sizes\": {\"avgcount\": 3, \"sum\": 9}},"
            + " \"bluestore\": {\"kv_sync_lat\": {\"avgcount\": 5, \"sum\": 1, \"avgtime\": 1},"
            + " \"state_deferred_queued_lat\": {\"avgcount\": 5, \"sum\": 9, \"avgtime\": 1}},"
            + " \"rocksdb\": {\"get_latency\": {\"avgcount\": 5, \"sum\": 1, \"avgtime\": 1}}}";
    ObjectMapper json = new ObjectMapper();
    Map<String, OsdCounters.Time> before = new java.util.TreeMap<>();
    OsdCounters.add(before, json.readTree(dump.formatted(10, "1.0")));
    OsdCounters.add(before, json.readTree(dump.formatted(20, "2.0")));
    assertThat(before)
        .containsOnlyKeys("osd.op_w_latency", "bluestore.kv_sync_lat")
        .containsEntry("osd.op_w_latency", new OsdCounters.Time(30, 3));
    Map<String, OsdCounters.Time> after = new java.util.TreeMap<>();
    OsdCounters.add(after, json.readTree(dump.formatted(40, "5.0")));
    assertThat(new OsdCounters(after, "").since(new OsdCounters(before, "")))
        .containsOnly(Map.entry("osd.op_w_latency", new OsdCounters.Time(10, 2)));
    assertThat(new OsdCounters.Time(10, 2).meanMillis()).isEqualTo(200);
  }

  @Test
  void sharesAreOfTheQuickestLoad() {
    assertThat(BenchLoad.shares(List.of())).isEmpty();
    List<BenchLoad> loads = BenchLoad.shares(report(1).points());
    assertThat(loads).extracting(BenchLoad::sharePercent).containsExactly(25, 50, 75);
    assertThat(loads).extracting(load -> load.plan().concurrency()).containsOnly(16);
    assertThat(loads.get(1).plan().maxBytesPerSecond()).isEqualTo(200L << 20);
  }
}
