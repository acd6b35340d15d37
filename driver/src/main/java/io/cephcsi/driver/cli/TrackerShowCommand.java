package io.cephcsi.driver.cli;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.fsck.TrackerReport;
import io.cephcsi.driver.tracker.TrackerState;
import io.cephcsi.driver.tracker.Trackers;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ceph-csi tracker show}: what refers to a snapshot. */
@Command(
    name = "show",
    description = "Shows what refers to a CephFS snapshot.",
    mixinStandardHelpOptions = true,
    versionProvider = VersionLine.class,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:done",
      "1:failed, or the snapshot has no tracker",
      "2:wrong command line or configuration"
    })
final class TrackerShowCommand implements Callable<Integer> {
  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Mixin private final FileSystemOptions fileSystem = new FileSystemOptions();

  @Parameters(paramLabel = "SNAPSHOT_ID", description = "the id of a CSI snapshot")
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private String snapshotId;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FORMAT",
      description = "table or json (default: table)")
  private OutputFormat output = OutputFormat.table;

  @Override
  public Integer call() {
    try (RadosCluster cluster = fileSystem.connect();
        IoContext io =
            fileSystem.openMetadata(cluster, fileSystem.choose(cluster, List.of(snapshotId)))) {
      Optional<TrackerState> tracker = new Trackers().in(io).read(snapshotId);
      if (tracker.isEmpty()) {
        spec.commandLine().getErr().println("ceph-csi: snapshot " + snapshotId + " has no tracker");
        return DriverMain.EXIT_FAILED;
      }
      TrackerOutput.print(
          spec.commandLine().getOut(),
          output,
          List.of(new TrackerReport(snapshotId, tracker, List.of())));
      return 0;
    }
  }
}
