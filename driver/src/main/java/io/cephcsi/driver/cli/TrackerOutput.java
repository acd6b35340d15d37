package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.driver.fsck.TrackerReport;
import io.cephcsi.driver.tracker.ReferenceState;
import io.cephcsi.driver.tracker.TrackerState;
import io.cephcsi.driver.volume.PlainText;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Prints reference trackers. */
final class TrackerOutput {
  private TrackerOutput() {}

  static void print(PrintWriter out, OutputFormat format, List<TrackerReport> reports) {
    format.print(
        out,
        people -> reports.forEach(report -> table(people, report)),
        root -> json(root, reports));
  }

  private static void table(PrintWriter out, TrackerReport report) {
    out.printf(
        "%s  %s%n",
        report.snapshotId(),
        report
            .tracker()
            .map(tracker -> "references: " + tracker.count())
            .orElse(report.problems().isEmpty() ? "no tracker" : ""));
    report
        .tracker()
        .ifPresent(
            tracker ->
                sorted(tracker)
                    .forEach(
                        (key, state) ->
                            out.printf("  %-7s %s%n", text(state), PlainText.escape(key))));
    report.problems().forEach(problem -> out.printf("  PROBLEM %s%n", PlainText.escape(problem)));
  }

  private static void json(ObjectNode root, List<TrackerReport> reports) {
    ArrayNode trackers = root.putArray("trackers");
    for (TrackerReport report : reports) {
      ObjectNode node = trackers.addObject().put("snapshotId", report.snapshotId());
      report
          .tracker()
          .ifPresent(
              tracker -> {
                node.put("count", tracker.count());
                ObjectNode references = node.putObject("references");
                sorted(tracker).forEach((key, state) -> references.put(key, text(state)));
              });
      ArrayNode problems = node.putArray("problems");
      report.problems().forEach(problems::add);
    }
  }

  private static Map<String, ReferenceState> sorted(TrackerState tracker) {
    return new TreeMap<>(tracker.references());
  }

  private static String text(ReferenceState state) {
    return state.name().toLowerCase(Locale.ROOT);
  }
}
