package io.cephcsi.driver.app;

import ch.qos.logback.classic.Level;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.metrics.MetricsEndpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code ceph-csi serve}: serves drivers until it is told to stop. */
@Command(
    name = ServeCommand.NAME,
    description = {
      "Serves a CSI driver on a Unix socket, or with --config several in one process,",
      "until SIGTERM or SIGINT."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
    showDefaultValues = true,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {"0:stopped when told to", "1:failed", "2:wrong command line or configuration"})
final class ServeCommand implements Callable<Integer> {
  static final String NAME = "serve";
  static final int CONNECT_SECONDS = 15;
  static final int OPERATION_SECONDS = 30;
  static final int GRACE_SECONDS = 25;
  static final int RECLAIMS = 2;
  static final String INSTANCE_ID = "default";

  private static final Logger LOG = LoggerFactory.getLogger(ServeCommand.class);
  private static final int DEBUG_VERBOSITY = 4;

  @Option(
      names = "--config",
      paramLabel = "FILE",
      description = "YAML file with all settings and several drivers; instead of the options below")
  private @Nullable Path config;

  @Option(
      names = "--type",
      paramLabel = "TYPE",
      description = "rbd or cephfs; or liveness: asks the driver at --endpoint, for its metric")
  private @Nullable String type;

  @Option(
      names = "--drivername",
      paramLabel = "NAME",
      description = "name of the driver (rbd.csi.ceph.com, cephfs.csi.ceph.com)")
  private @Nullable String driverName;

  @Option(
      names = "--endpoint",
      paramLabel = "unix://PATH",
      description = "socket of the CSI services")
  private String endpoint = "unix:///tmp/csi.sock";

  @Option(
      names = "--csi-addons-endpoint",
      paramLabel = "unix://PATH",
      description = "socket of the CSI-Addons services; without it they are served beside CSI's")
  private @Nullable String addonsEndpoint;

  @Option(names = "--nodeid", paramLabel = "ID", description = "id of this node")
  private String nodeId = "";

  @Option(
      names = "--controllerserver",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "BOOL",
      description = "serve the controller's calls; with neither this nor --nodeserver both are")
  private boolean controller;

  @Option(
      names = "--nodeserver",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "BOOL",
      description = "serve the node's calls")
  private boolean node;

  @Option(
      names = "--instanceid",
      paramLabel = "ID",
      description = "tells several drivers that share a pool apart")
  private String instanceId = INSTANCE_ID;

  @Option(
      names = "--clusters-file",
      paramLabel = "FILE",
      description = "the clusters, in the format of ceph-csi's config.json")
  private Path clustersFile = ClusterDirectory.DEFAULT_FILE;

  @Option(
      names = "--credentials",
      paramLabel = "DIR",
      description = {
        "credentials of the driver's own, for calls that carry none: one sub-folder for each",
        "clusterID with the files userID and userKey; without it the driver does not list, and",
        "does not tell capacity and condition"
      })
  private @Nullable Path credentials;

  @Option(
      names = "--attach",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "BOOL",
      description = "publish volumes to nodes even before a node plugin has registered")
  private boolean attach;

  @Option(
      names = "--metricsport",
      paramLabel = "PORT",
      description = "port of the Prometheus endpoint; 0 for none")
  private int metricsPort;

  @Option(
      names = "--metricsip",
      paramLabel = "IP",
      description = "address that the Prometheus endpoint listens on; without it all")
  private String metricsIp = "";

  @Option(
      names = "--metricspath",
      paramLabel = "PATH",
      description = "path of the Prometheus endpoint")
  private String metricsPath = MetricsEndpoint.DEFAULT_PATH;

  @Option(
      names = "--connect-timeout",
      paramLabel = "SECONDS",
      description = "how long connecting to a cluster may take")
  private int connectSeconds = CONNECT_SECONDS;

  @Option(
      names = "--operation-timeout",
      paramLabel = "SECONDS",
      description = "how long one operation of a cluster may take")
  private int operationSeconds = OPERATION_SECONDS;

  @Option(
      names = "--grace-period",
      paramLabel = "SECONDS",
      description = "how long running calls may go on after SIGTERM")
  private int graceSeconds = GRACE_SECONDS;

  @Option(
      names = "--reclaims",
      paramLabel = "N",
      description = "how many volumes of a cluster are reclaimed at once; others wait")
  private int reclaims = RECLAIMS;

  @Option(
      names = "--reclaims-per-cluster",
      paramLabel = "N",
      description = "how many of a cluster all drivers together reclaim at once; 0: no bound")
  private int reclaimsPerCluster = DriverConfig.RECLAIMS_PER_CLUSTER;

  @Option(
      names = "--groups-keep-volumes",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "BOOL",
      description = "refuse to delete a volume group that has volumes, which else go with it")
  private boolean groupsKeepVolumes;

  @Option(
      names = {"-v", "--v"},
      paramLabel = "LEVEL",
      description = "how much is logged: from 4 on requests too, without their secrets")
  private int verbosity;

  @ArgGroup(validate = false, heading = "")
  private final CloneOptions cloneOptions = new CloneOptions();

  @ArgGroup(validate = false, heading = "")
  private final NodeOptions nodeOptions = new NodeOptions();

  @ArgGroup(validate = false, heading = "")
  private final PeerOptions peerOptions = new PeerOptions();

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (verbosity >= DEBUG_VERBOSITY) {
      DriverMain.logLevel(Level.DEBUG);
    }
    peerOptions.warnOfIgnored();
    if ("liveness".equals(type)) {
      return LivenessProbe.serve(
          Endpoints.socket(endpoint), metrics(), peerOptions.pollTime(), peerOptions.timeout());
    }
    if ("controller".equals(type)) {
      LOG.warn(
          "type controller does nothing here: the journal is read from the cluster, nothing of it"
              + " is regenerated from PersistentVolumes");
      untilTold(() -> {});
      return 0;
    }
    untilTold(start()::close);
    return 0;
  }

  /** Starts what the options ask for. */
  DriverProcess start() throws IOException {
    return DriverProcess.start(config == null ? fromOptions() : ConfigFile.read(config));
  }

  private MetricsEndpoint metrics() {
    return new MetricsEndpoint(metricsIp, metricsPort, metricsPath);
  }

  private DriverConfig fromOptions() {
    if (type == null) {
      throw new ConfigException("--type is required: rbd or cephfs (or use --config)");
    }
    DriverConfig.Type kind = Endpoints.type(type);
    boolean both = !controller && !node;
    return new DriverConfig(
        clustersFile,
        metrics(),
        Duration.ofSeconds(connectSeconds),
        Duration.ofSeconds(operationSeconds),
        Duration.ofSeconds(graceSeconds),
        reclaims,
        reclaimsPerCluster,
        List.of(
            new DriverConfig.Driver(
                kind,
                driverName == null || driverName.isEmpty() ? kind.defaultName() : driverName,
                Endpoints.socket(endpoint),
                Optional.ofNullable(addonsEndpoint)
                    .filter(e -> !e.isEmpty())
                    .map(Endpoints::socket),
                nodeId,
                instanceId.isEmpty() ? INSTANCE_ID : instanceId, // as ceph-csi takes it
                controller || both,
                node || (both && !nodeId.isEmpty()),
                Optional.ofNullable(credentials),
                attach,
                nodeOptions.settings())),
        cloneOptions.limits(),
        cloneOptions.labels(),
        groupsKeepVolumes);
  }

  /** Waits for SIGTERM or SIGINT, then stops before the process ends. */
  static void untilTold(Runnable stop) throws InterruptedException {
    CountDownLatch stopped = new CountDownLatch(1);
    Thread hook =
        new Thread(
            () -> {
              stop.run();
              stopped.countDown();
              // Told to stop is no failure; the JVM would end with 143.
              Runtime.getRuntime().halt(0);
            },
            "stop");
    Runtime.getRuntime().addShutdownHook(hook);
    stopped.await();
  }
}
