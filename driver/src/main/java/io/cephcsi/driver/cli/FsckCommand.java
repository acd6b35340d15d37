package io.cephcsi.driver.cli;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.cluster.PoolInfo;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.fsck.check.FileSystemCheck;
import io.cephcsi.driver.fsck.check.RbdCheck;
import io.cephcsi.driver.volume.VolumeException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ceph-csi fsck}: what is in the cluster against what should be. */
@Command(
    name = "fsck",
    description = {
      "Checks whether all that drivers keep in a cluster is consistent: journal,",
      "images, trash, groups, subvolumes, snapshots. It only reads, unless --repair",
      "is given, and works beside running drivers: what looks wrong is looked at",
      "twice more before it is reported."
    },
    mixinStandardHelpOptions = true,
    versionProvider = VersionLine.class,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:no problem, or all were mended",
      "1:failed",
      "2:wrong command line or configuration",
      "3:problems were found"
    })
final class FsckCommand implements Callable<Integer> {
  private static final int MOST = 256;

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Mixin private final ClusterOptions connection = new ClusterOptions();

  @Mixin private final FsckRepair repair = new FsckRepair();

  @Option(
      names = "--all-clusters",
      description = "check each cluster of --clusters-file, one after the other")
  private boolean allClusters;

  @Option(
      names = "--pool",
      paramLabel = "POOL[/NAMESPACE]",
      description =
          "a pool of RBD volumes, with one or all of its namespaces; may be repeated (default: all"
              + " pools, unless --file-system is given)")
  private final List<String> pools = new ArrayList<>();

  @Option(
      names = "--file-system",
      paramLabel = "NAME",
      description =
          "a file system; may be repeated (default: all file systems, unless --pool is given)")
  private final List<String> fileSystems = new ArrayList<>();

  @Option(
      names = "--instanceid",
      paramLabel = "ID",
      description = "an instance whose journal may be in another pool than its images")
  private final List<String> instances = new ArrayList<>(List.of(DriverSettings.INSTANCE_ID));

  @Option(
      names = "--concurrency",
      paramLabel = "N",
      description = "how many operations are in flight at most (default: 16)")
  private int concurrency = 16;

  @Option(
      names = "--rate",
      paramLabel = "N",
      description = "how many operations are begun in a second at most (default: 0, no bound)")
  private int rate;

  @Option(
      names = "--settle",
      paramLabel = "TIME",
      description = "how long to wait before each further look (default: 3s)")
  private String settle = "3s";

  @Option(
      names = "--min-age",
      paramLabel = "TIME",
      description = "unfinished work that is younger is not reported (default: 10m)")
  private String minAge = "10m";

  @Option(names = "--deep", description = "compare all object maps with the objects, not one of 16")
  private boolean deep;

  @Option(
      names = "--expect",
      paramLabel = "FILE",
      description = "also compare with the output of: kubectl get pv,volumesnapshotcontent -o json")
  private @Nullable Path expect;

  @Option(
      names = "--metrics-file",
      paramLabel = "FILE",
      description = "write the number of findings as metrics, for node_exporter")
  private @Nullable Path metricsFile;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FORMAT",
      description = "table or json (default: table)")
  private OutputFormat output = OutputFormat.table;

  private final CheckProgress progress = new CheckProgress();
  private final FsckReport report = new FsckReport();
  private boolean failed;

  @Override
  public Integer call() {
    ConfigException.require(
        concurrency >= 1 && concurrency <= MOST, "--concurrency must be 1 to " + MOST);
    ConfigException.require(rate >= 0 && rate <= 1_000_000, "--rate must be 0 to 1000000");
    repair.requireConsistent();
    if (metricsFile != null) {
      BenchPage.requireWritable(metricsFile);
    }
    CheckSettings settings =
        new CheckSettings(
            concurrency,
            rate,
            GoDuration.parse("--settle", settle),
            GoDuration.parse("--min-age", minAge),
            repair.age(),
            deep);
    try (ProgressLine line = ProgressLine.start(this::shown, spec.commandLine().getErr());
        Workers workers = new Workers(settings)) {
      if (allClusters) {
        for (List<ClusterOptions> ids : connection.ofEachCluster().values()) {
          checkOneOfAll(ids, settings, workers, line);
        }
      } else {
        check(List.of(connection), settings, workers, line);
      }
    }
    output.print(spec.commandLine().getOut(), report::table, report::json);
    if (metricsFile != null && !failed) { // else they would tell of some clusters as of all
      report.writeMetrics(metricsFile);
    }
    return failed ? 1 : report.isClean() ? 0 : ImageCommand.EXIT_INCOMPLETE;
  }

  /** Checks a cluster of several: one that cannot be checked keeps the others from nothing. */
  private void checkOneOfAll(
      List<ClusterOptions> ids, CheckSettings settings, Workers workers, ProgressLine line) {
    String name = ids.stream().map(ClusterOptions::clusterId).collect(Collectors.joining(", "));
    report.begin(name);
    try {
      check(ids, settings, workers, line);
    } catch (CephException | ConfigException | VolumeException e) {
      failed = true;
      report.leaveOut("the cluster", String.valueOf(e.getMessage()));
    }
  }

  /**
   * Checks a cluster.
   *
   * @param ids how it is reached: by one or several clusterIDs
   */
  private void check(
      List<ClusterOptions> ids, CheckSettings settings, Workers workers, ProgressLine line) {
    if (expect != null) {
      ids.get(0).requireAllClusters();
    }
    boolean allKnown = ids.get(0).knowsAllClusters();
    Map<String, String> journals = ids.get(0).cephFsJournals();
    Optional<FsckExpectation> expected =
        Optional.ofNullable(expect).map(file -> FsckExpectation.read(file, journals, settings));
    try (RadosCluster cluster = ids.get(0).connect(Map.of())) {
      checkRbd(cluster, settings, workers, expected, line);
      Map<String, Set<String>> groups = new TreeMap<>(); // those of one journal
      ids.forEach(
          id ->
              groups
                  .computeIfAbsent(id.cephFsNamespace(), namespace -> new TreeSet<>())
                  .add(id.subvolumeGroup()));
      groups.forEach(
          (namespace, of) -> {
            Set<String> others = new TreeSet<>(journals.values());
            others.remove(namespace);
            var place = new FileSystemCheck.Place(namespace, of, others, allKnown);
            checkCephFs(cluster, place, settings, workers, expected, line);
          });
      expected.ifPresent(e -> e.findInOtherJournals(cluster));
    }
    expected.ifPresent(e -> e.end(report));
  }

  private void checkRbd(
      RadosCluster cluster,
      CheckSettings settings,
      Workers workers,
      Optional<FsckExpectation> expected,
      ProgressLine line) {
    if (!pools.isEmpty() || fileSystems.isEmpty()) {
      RbdCheck check = new RbdCheck(settings, workers, progress, Set.copyOf(instances));
      for (String[] place : places(cluster)) {
        try (IoContext io = cluster.openPool(place[0], place[1])) {
          RbdCheck.Result result = check.check(io);
          report.add(place[0], place[1], result);
          repair.run(result.findings(), report, spec.commandLine(), line);
          expected.ifPresent(e -> e.compareRbd(io, report));
        } catch (CephException.Denied e) {
          if (!pools.isEmpty()) {
            throw e;
          }
          report.leaveOut(place[0], String.valueOf(e.getMessage()));
        }
      }
    }
  }

  private void checkCephFs(
      RadosCluster cluster,
      FileSystemCheck.Place place,
      CheckSettings settings,
      Workers workers,
      Optional<FsckExpectation> expected,
      ProgressLine line) {
    if (!fileSystems.isEmpty() || pools.isEmpty()) {
      for (FileSystemInfo info : chosen(cluster)) {
        try (IoContext io = cluster.openPool(info.metadataPoolId(), place.namespace())) {
          FileSystemCheck check =
              new FileSystemCheck(
                  settings,
                  workers,
                  progress,
                  Set.copyOf(instances),
                  place,
                  expected.map(FsckExpectation::sizes).orElse(Map.of()));
          check.check(
              cluster,
              info,
              io,
              result -> {
                report.add(info.name(), place.namespace(), result);
                repair.run(result.findings(), report, spec.commandLine(), line);
              });
          expected.ifPresent(e -> e.compareCephFs(info, io, report));
        } catch (CephException.Denied e) {
          if (!fileSystems.isEmpty()) {
            throw e;
          }
          report.leaveOut(info.name(), String.valueOf(e.getMessage()));
        }
      }
    }
  }

  /** Pools and namespaces. */
  private List<String[]> places(RadosCluster cluster) {
    List<String[]> places = new ArrayList<>();
    for (String pool : pools) {
      String[] parts = pool.split("/", 2);
      if (parts.length > 1) {
        places.add(parts);
      } else {
        addNamespaces(cluster, pool, places);
      }
    }
    if (pools.isEmpty()) {
      for (PoolInfo pool : MonitorQueries.pools(cluster)) {
        boolean holdsData = pool.erasureCoded() && pool.applications().contains("rbd");
        if (pool.mayHoldRbd() || holdsData) {
          try {
            addNamespaces(cluster, pool.name(), places);
          } catch (CephException.Denied e) {
            report.leaveOut(pool.name(), String.valueOf(e.getMessage()));
          }
        }
      }
    }
    return places;
  }

  private static void addNamespaces(RadosCluster cluster, String pool, List<String[]> places) {
    try (IoContext io = cluster.openPool(pool)) {
      RbdCheck.namespaces(io).forEach(namespace -> places.add(new String[] {pool, namespace}));
    }
  }

  private List<FileSystemInfo> chosen(RadosCluster cluster) {
    List<FileSystemInfo> all = MonitorQueries.fileSystems(cluster);
    Set<String> unknown = new TreeSet<>(fileSystems);
    all.forEach(info -> unknown.remove(info.name()));
    ConfigException.require(
        unknown.isEmpty(), "the cluster has no file system " + String.join(", ", unknown));
    return all.stream()
        .filter(info -> fileSystems.isEmpty() || fileSystems.contains(info.name()))
        .toList();
  }

  private Optional<String> shown() {
    String phase = progress.phase();
    if (phase.isEmpty()) {
      return Optional.empty();
    }
    if (progress.total() == 0) {
      return Optional.of(phase + ": " + progress.done());
    }
    String text = phase + ": " + progress.done() + " of " + progress.total();
    String rest = progress.remaining().map(FsckCommand::seconds).orElse("");
    return Optional.of(
        ProgressLine.bar(text, Math.min(100.0, 100.0 * progress.done() / progress.total())) + rest);
  }

  private static String seconds(Duration rest) {
    return " " + rest.toSeconds() + " s left";
  }
}
