package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * One reclaim that was measured.
 *
 * @param maxBytesPerSecond the limit; 0 for none
 * @param sharePercent which part of the most throughput before it the limit is; 0 if it was given
 * @param freed in bytes
 * @param cpu seconds of this process
 * @param osdCpu seconds of the OSDs of this machine; empty if there are none
 * @param latencies of the discards; empty if they were not recorded
 * @param osd what the OSDs counted meanwhile; empty if they were not asked
 */
record BenchPoint(
    int concurrency,
    long maxBytesPerSecond,
    int sharePercent,
    int objects,
    double seconds,
    long freed,
    double cpu,
    OptionalDouble osdCpu,
    Optional<Latencies> latencies,
    Map<String, OsdCounters.Time> osd) {
  private static final int BAR = 30;

  /** Objects a second. */
  double rate() {
    return objects / seconds;
  }

  /** CPU of this process for an object, in milliseconds. */
  double cpuMillis() {
    return 1e3 * cpu / objects;
  }

  /** CPU of the OSDs for an object, in milliseconds. */
  OptionalDouble osdCpuMillis() {
    return osdCpu.isPresent()
        ? OptionalDouble.of(1e3 * osdCpu.getAsDouble() / objects)
        : OptionalDouble.empty();
  }

  /** What was asked for: points of two reports with the same one can be compared. */
  String load() {
    return "concurrency " + concurrency + ", " + limit();
  }

  private String limit() {
    return sharePercent > 0
        ? sharePercent + " % of the most"
        : maxBytesPerSecond == 0 ? "no limit" : maxBytesPerSecond + " bytes/s";
  }

  static void printHead(PrintWriter out) {
    out.printf(
        "%11s %14s %8s %9s %10s %12s %9s %9s%n",
        "concurrency", "limit", "objects", "seconds", "objects/s", "freed/s", "CPU s", "OSD CPU s");
  }

  /** Prints a line; its bar is as long as its rate beside the most. */
  void print(PrintWriter out, double most) {
    out.printf(
        Locale.ROOT,
        "%11d %14s %8d %9.2f %10.0f %12s %9.2f %9s  %s%n",
        concurrency,
        maxBytesPerSecond == 0 ? "none" : ImageCommand.bytes(maxBytesPerSecond) + "/s",
        objects,
        seconds,
        rate(),
        ImageCommand.bytes((long) (freed / seconds)),
        cpu,
        osdCpu.isPresent() ? String.format(Locale.ROOT, "%.2f", osdCpu.getAsDouble()) : "unknown",
        "#".repeat(Math.max(1, (int) Math.round(BAR * rate() / most))));
  }

  /** Puts the figures of {@code --output json} into an object. */
  void toJson(ObjectNode node) {
    node.put("concurrency", concurrency)
        .put("maxBytesPerSecond", maxBytesPerSecond)
        .put("objects", objects)
        .put("seconds", seconds)
        .put("objectsPerSecond", rate())
        .put("freedBytes", freed)
        .put("cpuSeconds", cpu);
    osdCpu.ifPresent(used -> node.put("osdCpuSeconds", used));
  }
}
