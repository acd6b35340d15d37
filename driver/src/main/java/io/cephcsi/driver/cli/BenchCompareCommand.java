package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.plot.LinePlot;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ceph-csi bench compare}: what changed between two reports? Needs no cluster. */
@Command(
    name = "compare",
    description = {
      "Compares two reports of bench reclaim, by the loads that both have. What was different when",
      "they were made is said on stderr."
    },
    mixinStandardHelpOptions = true,
    versionProvider = VersionLine.class,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:done",
      "1:failed, or the reports have no load in common",
      "2:wrong command line, or a file is no report"
    })
final class BenchCompareCommand implements Callable<Integer> {
  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Parameters(index = "0", paramLabel = "BEFORE.html", description = "the first report")
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private Path before;

  @Parameters(index = "1", paramLabel = "AFTER.html", description = "the second report")
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private Path after;

  @Option(
      names = "--report",
      paramLabel = "FILE.html",
      description = "writes the comparison there, too, with plots")
  private @Nullable Path report;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FORMAT",
      description = "table or json")
  private OutputFormat output = OutputFormat.table;

  @Override
  public Integer call() {
    if (report != null) {
      BenchPage.requireWritable(report);
      Path written = report.toAbsolutePath().normalize();
      ConfigException.require(
          !written.equals(before.toAbsolutePath().normalize())
              && !written.equals(after.toAbsolutePath().normalize()),
          "--report must be another file than the reports");
    }
    BenchComparison comparison =
        BenchComparison.of(BenchReport.read(before), BenchReport.read(after));
    PrintWriter err = spec.commandLine().getErr();
    comparison.differences().forEach(one -> err.println(DriverMain.shown(one)));
    if (comparison.rows().isEmpty()) {
      err.println("ceph-csi: the reports have no load in common");
      return DriverMain.EXIT_FAILED;
    }
    if (report != null) {
      OutputFile.replace(report, BenchPage.of(comparison));
    }
    output.print(
        spec.commandLine().getOut(),
        out -> {
          out.printf("%-40s %-22s %12s %12s %10s%n", "load", "figure", "before", "after", "change");
          comparison
              .rows()
              .forEach(
                  row ->
                      out.printf(
                          "%-40s %-22s %12s %12s %10s%n",
                          row.load(),
                          row.figure(),
                          LinePlot.number(row.before()),
                          LinePlot.number(row.after()),
                          row.change()));
        },
        root -> {
          ArrayNode differences = root.putArray("differences");
          comparison.differences().forEach(differences::add);
          ArrayNode rows = root.putArray("figures");
          for (BenchComparison.Row row : comparison.rows()) {
            rows.addObject()
                .put("load", row.load())
                .put("figure", row.figure())
                .put("before", row.before())
                .put("after", row.after());
          }
        });
    return 0;
  }
}
