package io.cephcsi.driver.cli;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.ParallelReads;
import io.cephcsi.driver.fsck.ShallowVolume;
import io.cephcsi.driver.fsck.TrackerCheck;
import io.cephcsi.driver.fsck.TrackerReport;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalDirectory;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.tracker.Trackers;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ceph-csi tracker verify}: whether trackers are right. */
@Command(
    name = "verify",
    description = {
      "Checks reference trackers against the journal and the snapshots that there are:",
      "those of the snapshots named, or all of a file system. Nothing is changed."
    },
    mixinStandardHelpOptions = true,
    versionProvider = VersionLine.class,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:no problem",
      "1:failed",
      "2:wrong command line or configuration",
      "3:problems were found"
    },
    footer = {
      "",
      "Volumes and snapshots that are made or deleted meanwhile may show as problems: look again."
    })
final class TrackerVerifyCommand implements Callable<Integer> {
  private static final int WORKERS = 16;

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Mixin private final FileSystemOptions options = new FileSystemOptions();

  @Parameters(arity = "0..*", paramLabel = "SNAPSHOT_ID", description = "ids of CSI snapshots")
  private final List<String> snapshotIds = new ArrayList<>();

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FORMAT",
      description = "table or json (default: table)")
  private OutputFormat output = OutputFormat.table;

  @Override
  public Integer call() {
    List<TrackerReport> reports;
    ExecutorService workers = Executors.newFixedThreadPool(WORKERS);
    try (RadosCluster cluster = options.connect()) {
      FileSystemInfo fileSystem = options.choose(cluster, snapshotIds);
      try (IoContext io = options.openMetadata(cluster, fileSystem)) {
        reports = check(cluster, fileSystem, io, new ParallelReads(workers));
      }
    } finally {
      workers.shutdownNow();
    }
    TrackerOutput.print(spec.commandLine().getOut(), output, reports);
    boolean sound = reports.stream().allMatch(report -> report.problems().isEmpty());
    return sound ? 0 : ImageCommand.EXIT_INCOMPLETE;
  }

  private List<TrackerReport> check(
      RadosCluster cluster, FileSystemInfo fileSystem, IoContext io, ParallelReads reads) {
    Journal volumes = new Journal(JournalKind.VOLUME, options.instanceId(), io, io);
    Journal snapshots = new Journal(JournalKind.SNAPSHOT, options.instanceId(), io, io);
    TrackerCheck check =
        new TrackerCheck(
            new Trackers().in(io),
            snapshots,
            snapshots::isReserved,
            volumes,
            new ManagerSnapshots(cluster, fileSystem.name(), options.group()));
    List<ShallowVolume> shallow =
        ShallowVolume.all(
            new JournalDirectory(JournalKind.VOLUME, options.instanceId(), io), volumes, reads);
    Collection<String> ids = snapshotIds.isEmpty() ? check.snapshotIds(shallow) : snapshotIds;
    return reads.map(List.copyOf(ids), id -> check.check(id, shallow));
  }
}
