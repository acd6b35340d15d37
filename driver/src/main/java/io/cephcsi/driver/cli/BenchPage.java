package io.cephcsi.driver.cli;

import static io.cephcsi.driver.plot.LinePlot.escaped;
import static io.cephcsi.driver.plot.LinePlot.number;

import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.plot.LinePlot;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** Reports as one page of HTML each, which needs nothing else and runs nothing. */
final class BenchPage {
  private static final int OSD_LINES = 4;

  private BenchPage() {}

  /** A report. */
  static String of(BenchReport report) {
    StringBuilder page = new StringBuilder(head("ceph-csi bench reclaim"));
    page.append("<p>");
    new TreeMap<>(report.setup())
        .forEach((name, value) -> page.append(escaped(name + ": " + value)).append("<br>"));
    page.append("</p>");
    report.notes().forEach(note -> page.append("<p>").append(escaped(note)).append("</p>"));
    table(page, report.points());
    plots(page, report.points());
    osdTable(page, report.points());
    return page.append(report.element()).append("\n</body></html>\n").toString();
  }

  private static String head(String title) {
    return """
        <!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>%s</title>
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <style>
        body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; color: #222; }
        table { border-collapse: collapse; } td, th { padding: .25em .8em; text-align: right; border-bottom: 1px solid #ddd; }
        td:first-child, th:first-child { text-align: left; } svg { margin: 1em 1em 1em 0; background: #fafafa; }
        </style></head><body><h1>%s</h1>
        """
        .formatted(escaped(title), escaped(title));
  }

  private static void row(StringBuilder page, String cell, List<String> cells) {
    page.append("<tr>");
    cells.forEach(text -> page.append('<').append(cell).append('>').append(escaped(text)));
    page.append('\n');
  }

  private static void table(StringBuilder page, List<BenchPoint> points) {
    page.append("<table>");
    row(
        page,
        "th",
        List.of(
            "load",
            "objects/s",
            "freed/s",
            "p50 ms",
            "p90 ms",
            "p99 ms",
            "most ms",
            "CPU ms per object",
            "OSD CPU ms per object"));
    for (BenchPoint point : points) {
      row(
          page,
          "td",
          List.of(
              point.load(),
              number(point.rate()),
              ImageCommand.bytes((long) (point.freed() / point.seconds())),
              latency(point, Latencies::p50),
              latency(point, Latencies::p90),
              latency(point, Latencies::p99),
              latency(point, Latencies::max),
              number(point.cpuMillis()),
              shown(point.osdCpuMillis())));
    }
    page.append("</table>\n");
  }

  private static String latency(BenchPoint point, ToDoubleFunction<Latencies> figure) {
    return point.latencies().map(l -> number(figure.applyAsDouble(l))).orElse("");
  }

  private static String shown(OptionalDouble figure) {
    return figure.isPresent() ? number(figure.getAsDouble()) : "";
  }

  private static void plots(StringBuilder page, List<BenchPoint> points) {
    Map<String, List<BenchPoint>> byConcurrency = new LinkedHashMap<>();
    Map<String, List<BenchPoint>> byLimit = new LinkedHashMap<>();
    for (BenchPoint point : points) {
      if (point.sharePercent() == 0) {
        String limit =
            point.maxBytesPerSecond() == 0
                ? "no limit"
                : ImageCommand.bytes(point.maxBytesPerSecond()) + "/s";
        byConcurrency.computeIfAbsent(limit, key -> new ArrayList<>()).add(point);
      }
      if (point.maxBytesPerSecond() > 0) {
        String concurrency = "concurrency " + point.concurrency();
        byLimit.computeIfAbsent(concurrency, key -> new ArrayList<>()).add(point);
      }
    }
    byConcurrency.forEach(
        (limit, some) ->
            plots(
                page,
                "Over concurrency, " + limit,
                some,
                p -> Math.log(p.concurrency()),
                p -> Integer.toString(p.concurrency())));
    byLimit.forEach(
        (concurrency, some) ->
            plots(
                page,
                "Over the rate, " + concurrency,
                some,
                BenchPoint::maxBytesPerSecond,
                p ->
                    p.sharePercent() > 0
                        ? p.sharePercent() + " %"
                        : ImageCommand.bytes(p.maxBytesPerSecond())));
  }

  private static void plots(
      StringBuilder page,
      String title,
      List<BenchPoint> some,
      ToDoubleFunction<BenchPoint> place,
      Function<BenchPoint, String> label) {
    List<BenchPoint> points = some.stream().sorted(Comparator.comparingDouble(place)).toList();
    double[] x = points.stream().mapToDouble(place).toArray();
    List<String> labels = points.stream().map(label).toList();
    page.append("<h2>").append(escaped(title)).append("</h2>\n");
    page.append(
        new LinePlot(
                "throughput (objects/s)",
                x,
                labels,
                Map.of("throughput", figures(points, BenchPoint::rate)))
            .svg());
    Map<String, double[]> latencies = new LinkedHashMap<>();
    latencies.put("p50", latencies(points, Latencies::p50));
    latencies.put("p90", latencies(points, Latencies::p90));
    latencies.put("p99", latencies(points, Latencies::p99));
    latencies.put("most", latencies(points, Latencies::max));
    page.append(new LinePlot("latency of a discard (ms)", x, labels, latencies).svg());
    Map<String, double[]> cpu = new LinkedHashMap<>();
    cpu.put("this process", figures(points, p -> p.cpu() / p.seconds()));
    cpu.put("OSDs here", figures(points, p -> p.osdCpu().orElse(0) / p.seconds()));
    page.append(new LinePlot("CPU (cores)", x, labels, cpu).svg());
    Map<String, double[]> osd = new LinkedHashMap<>();
    points.stream()
        .flatMap(p -> p.osd().keySet().stream())
        .distinct()
        .limit(OSD_LINES)
        .forEach(
            name ->
                osd.put(
                    name,
                    figures(
                        points,
                        p -> p.osd().getOrDefault(name, new OsdCounters.Time(0, 0)).meanMillis())));
    page.append(new LinePlot("what the OSDs count, mean (ms)", x, labels, osd).svg()).append('\n');
  }

  private static double[] figures(List<BenchPoint> points, ToDoubleFunction<BenchPoint> figure) {
    return points.stream().mapToDouble(figure).toArray();
  }

  private static double[] latencies(List<BenchPoint> points, ToDoubleFunction<Latencies> figure) {
    return figures(points, p -> p.latencies().map(figure::applyAsDouble).orElse(0.0));
  }

  private static void osdTable(StringBuilder page, List<BenchPoint> points) {
    if (points.stream().allMatch(point -> point.osd().isEmpty())) {
      return;
    }
    page.append("<h2>What the OSDs counted meanwhile</h2><table>");
    row(page, "th", List.of("load", "counter", "times", "seconds", "mean ms"));
    for (BenchPoint point : points) {
      point
          .osd()
          .forEach(
              (name, time) ->
                  row(
                      page,
                      "td",
                      List.of(
                          point.load(),
                          name,
                          Long.toString(time.count()),
                          number(time.seconds()),
                          number(time.meanMillis()))));
    }
    page.append("</table>\n");
  }

  /** Two reports beside each other. */
  static String of(BenchComparison comparison) {
    StringBuilder page = new StringBuilder(head("ceph-csi bench compare"));
    comparison.differences().forEach(one -> page.append("<p>").append(escaped(one)).append("</p>"));
    page.append("<table>");
    row(page, "th", List.of("load", "figure", "before", "after", "change"));
    for (BenchComparison.Row one : comparison.rows()) {
      row(
          page,
          "td",
          List.of(
              one.load(), one.figure(), number(one.before()), number(one.after()), one.change()));
    }
    page.append("</table>\n");
    Map<String, List<BenchComparison.Row>> byFigure = new LinkedHashMap<>();
    comparison
        .rows()
        .forEach(one -> byFigure.computeIfAbsent(one.figure(), f -> new ArrayList<>()).add(one));
    byFigure.forEach(
        (figure, rows) -> {
          double[] x = new double[rows.size()];
          List<String> labels = new ArrayList<>();
          for (int i = 0; i < x.length; i++) {
            x[i] = i;
            labels.add(Integer.toString(i + 1));
          }
          Map<String, double[]> series = new LinkedHashMap<>();
          series.put("before", rows.stream().mapToDouble(BenchComparison.Row::before).toArray());
          series.put("after", rows.stream().mapToDouble(BenchComparison.Row::after).toArray());
          page.append(new LinePlot(figure + ", by the table's loads", x, labels, series).svg());
        });
    return page.append("\n</body></html>\n").toString();
  }

  /** Refuses a name under which no page can be written, before anything is measured. */
  static void requireWritable(Path file) {
    Path folder = file.toAbsolutePath().getParent();
    ConfigException.require(
        folder != null && Files.isDirectory(folder) && Files.isWritable(folder),
        file + " cannot be written: its folder is none, or must not be written to");
    ConfigException.require(
        !Files.exists(file) || Files.isRegularFile(file), file + " is there and is no file");
  }
}
