package io.cephcsi.driver.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Two reports of {@code ceph-csi bench reclaim}, by the loads that both have. Immutable.
 *
 * @param differences what makes the figures say less: other setups, and loads of one report only
 */
record BenchComparison(List<BenchComparison.Row> rows, List<String> differences) {
  /** Of no meaning for the figures. */
  private static final Set<String> FREE = Set.of("at", "image");

  BenchComparison {
    rows = List.copyOf(rows);
    differences = List.copyOf(differences);
  }

  /**
   * A figure of a load, in both.
   *
   * @param figure with its unit
   */
  record Row(String load, String figure, double before, double after) {
    /** By how much it is more or less; empty when it was nothing. */
    String change() {
      return before > 0
          ? String.format(Locale.ROOT, "%+.1f %%", 100 * (after - before) / before)
          : "";
    }
  }

  static BenchComparison of(BenchReport before, BenchReport after) {
    List<String> differences = new ArrayList<>();
    Set<String> names = new TreeSet<>(before.setup().keySet());
    names.addAll(after.setup().keySet());
    names.removeAll(FREE);
    for (String name : names) {
      String was = before.setup().getOrDefault(name, "unknown");
      String is = after.setup().getOrDefault(name, "unknown");
      if (!was.equals(is)) {
        differences.add(name + " was " + was + " and is " + is);
      }
    }
    Map<String, BenchPoint> later = new LinkedHashMap<>();
    after.points().forEach(point -> later.put(point.load(), point));
    Map<String, BenchPoint> earlier = new LinkedHashMap<>();
    before.points().forEach(point -> earlier.put(point.load(), point));
    List<Row> rows = new ArrayList<>();
    earlier.forEach(
        (load, was) -> {
          BenchPoint is = later.remove(load);
          if (is == null) {
            differences.add(load + ": only in the first report");
          } else {
            add(rows, load, was, is);
          }
        });
    later.keySet().forEach(load -> differences.add(load + ": only in the second report"));
    return new BenchComparison(rows, differences);
  }

  private static void add(List<Row> rows, String load, BenchPoint was, BenchPoint is) {
    rows.add(new Row(load, "objects/s", was.rate(), is.rate()));
    if (was.latencies().isPresent() && is.latencies().isPresent()) {
      Latencies before = was.latencies().get();
      Latencies after = is.latencies().get();
      rows.add(new Row(load, "p50 ms", before.p50(), after.p50()));
      rows.add(new Row(load, "p99 ms", before.p99(), after.p99()));
    }
    rows.add(new Row(load, "CPU ms per object", was.cpuMillis(), is.cpuMillis()));
    if (was.osdCpu().isPresent() && is.osdCpu().isPresent()) {
      rows.add(
          new Row(
              load,
              "OSD CPU ms per object",
              was.osdCpuMillis().getAsDouble(),
              is.osdCpuMillis().getAsDouble()));
    }
  }
}
