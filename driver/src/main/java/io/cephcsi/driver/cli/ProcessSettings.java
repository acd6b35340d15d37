package io.cephcsi.driver.cli;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.app.Endpoints;
import io.cephcsi.driver.cluster.ClusterDefaults;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.kms.KmsConfig;
import io.cephcsi.driver.metrics.MetricsEndpoint;
import io.cephcsi.driver.node.cephfs.CephFsOptions;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.volume.VolumeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The settings of a process: options of {@code serve}, and keys at the top level of its
 * configuration file. picocli or Jackson fills them; what is not given keeps its default.
 */
class ProcessSettings {
  static final int OPERATION_SECONDS = 30;

  @Option(
      names = "--clusters-file",
      paramLabel = "FILE",
      description = "the clusters, in the format of ceph-csi's config.json")
  @JsonProperty("clustersFile")
  private String clustersFile = ClusterDirectory.DEFAULT_FILE.toString();

  @Option(
      names = "--kms-config",
      paramLabel = "FILE",
      description = "key management systems of encrypted volumes, in ceph-csi's format")
  @JsonProperty("kmsConfig")
  private String kmsConfig = KmsConfig.DEFAULT_FILE.toString();

  @Option(
      names = "--metricsport",
      paramLabel = "PORT",
      description = "port of the Prometheus endpoint; 0 for none")
  @JsonProperty("metricsPort")
  private int metricsPort;

  @Option(
      names = "--metricsip",
      paramLabel = "IP",
      description = "address that the Prometheus endpoint listens on; else that of POD_IP, or all")
  @JsonProperty("metricsIp")
  private String metricsIp = "";

  @Option(
      names = "--metricspath",
      paramLabel = "PATH",
      description = "path of the Prometheus endpoint")
  @JsonProperty("metricsPath")
  private String metricsPath = MetricsEndpoint.DEFAULT_PATH;

  @Option(
      names = "--connect-timeout",
      paramLabel = "SECONDS",
      description = "how long connecting to a cluster may take")
  @JsonProperty("connectTimeoutSeconds")
  private int connectSeconds = 15;

  @Option(
      names = "--operation-timeout",
      paramLabel = "SECONDS",
      description = "how long one operation of a cluster may take")
  @JsonProperty("operationTimeoutSeconds")
  private int operationSeconds = OPERATION_SECONDS;

  @Option(
      names = "--grace-period",
      paramLabel = "SECONDS",
      description = "how long running calls may go on after SIGTERM")
  @JsonProperty("gracePeriodSeconds")
  private int graceSeconds = 25;

  @Option(
      names = "--logslowopinterval",
      paramLabel = "TIME",
      description = "log calls that run for longer than this, such as 1m30s, each time; 0: never")
  @JsonProperty("logSlowOpInterval")
  private String slowCalls = DriverConfig.SLOW_CALLS.toSeconds() + "s";

  @Option(
      names = "--copy-wait",
      paramLabel = "SECONDS",
      description =
          "how long a CreateVolume of CephFS waits for its copy, if the caller does; 0: not at all")
  @JsonProperty("copyWaitSeconds")
  private int copyWaitSeconds = (int) DriverConfig.COPY_WAIT.toSeconds();

  @Option(
      names = "--reclaims",
      paramLabel = "N",
      description = "how many volumes of a cluster are reclaimed at once; others wait")
  @JsonProperty("reclaims")
  private int reclaims = 2;

  @Option(
      names = "--reclaims-per-cluster",
      paramLabel = "N",
      description = "how many of a cluster all drivers together reclaim at once; 0: no bound")
  @JsonProperty("reclaimsPerCluster")
  private int reclaimsPerCluster = DriverConfig.RECLAIMS_PER_CLUSTER;

  @Option(
      names = "--groups-keep-volumes",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "BOOL",
      description = "refuse to delete a volume group that has volumes, which else go with it")
  @JsonProperty("groupsKeepVolumes")
  private boolean groupsKeepVolumes;

  @Option(
      names = "--rbdhardmaxclonedepth",
      paramLabel = "N",
      description = "a clone with more ancestors is refused until one of them is flattened")
  @JsonProperty("rbdHardMaxCloneDepth")
  private int hardDepth = CloneLimits.DEFAULT.hardDepth();

  @Option(
      names = "--rbdsoftmaxclonedepth",
      paramLabel = "N",
      description = "a clone with more ancestors has one of them flattened in the background")
  @JsonProperty("rbdSoftMaxCloneDepth")
  private int softDepth = CloneLimits.DEFAULT.softDepth();

  @Option(
      names = "--maxsnapshotsonimage",
      paramLabel = "N",
      description = "an image gets no more snapshots than this until clones are flattened")
  @JsonProperty("maxSnapshotsOnImage")
  private int maxSnapshots = CloneLimits.DEFAULT.maxSnapshots();

  @Option(
      names = "--minsnapshotsonimage",
      paramLabel = "N",
      description = "an image with more snapshots has its oldest clones flattened")
  @JsonProperty("minSnapshotsOnImage")
  private int minSnapshots = CloneLimits.DEFAULT.minSnapshots();

  @Option(
      names = "--setmetadata",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "BOOL",
      description = "write the Kubernetes names of volumes and snapshots on their images")
  @JsonProperty("setMetadata")
  private boolean setMetadata;

  @Option(
      names = "--clustername",
      paramLabel = "NAME",
      description = "name of the Kubernetes cluster, written on images with --setmetadata")
  @JsonProperty("clusterName")
  private String clusterName = "";

  @Option(
      names = "--kernelmountoptions",
      paramLabel = "OPTIONS",
      description = "options of the kernel's CephFS, for clusters without kernelMountOptions")
  @JsonProperty("kernelMountOptions")
  private String kernelMountOptions = "";

  @Option(
      names = "--fusemountoptions",
      paramLabel = "OPTIONS",
      description = "options of ceph-fuse, for clusters without fuseMountOptions")
  @JsonProperty("fuseMountOptions")
  private String fuseMountOptions = "";

  @Option(
      names = "--enable-read-affinity",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "BOOL",
      description = "read from the nearest OSD, for clusters without readAffinity")
  @JsonProperty("readAffinity")
  private boolean readAffinity;

  @Option(
      names = "--crush-location-labels",
      paramLabel = "LABEL",
      split = ",",
      description = "labels of the Node object that say where the node is in the CRUSH map")
  @JsonProperty("crushLocationLabels")
  private List<@Nullable String> crushLabels = new ArrayList<>();

  @Option(names = "--radosnamespacecephfs", hidden = true) // only compared, so no key of the file
  private String cephFsNamespace = "";

  MetricsEndpoint metrics() {
    return metrics(System.getenv());
  }

  /** In a pod of ceph-csi's deployments the variable {@code POD_IP} is the address. */
  MetricsEndpoint metrics(Map<String, String> environment) {
    String address = metricsIp.isEmpty() ? environment.getOrDefault("POD_IP", "") : metricsIp;
    return new MetricsEndpoint(address, metricsPort, metricsPath);
  }

  /**
   * Of a process that serves these drivers.
   *
   * @throws ConfigException when a setting is not valid
   */
  DriverConfig config(List<DriverConfig.Driver> drivers) {
    return new DriverConfig(
        Endpoints.path(clustersFile),
        clusterDefaults(),
        metrics(),
        Duration.ofSeconds(connectSeconds),
        Duration.ofSeconds(operationSeconds),
        Duration.ofSeconds(graceSeconds),
        GoDuration.parse("logslowopinterval", slowCalls),
        Duration.ofSeconds(copyWaitSeconds),
        reclaims,
        reclaimsPerCluster,
        drivers,
        cloneLimits(),
        new ImageLabels(setMetadata, clusterName),
        groupsKeepVolumes,
        kmsConfig.isEmpty() ? KmsConfig.DEFAULT_FILE : Endpoints.path(kmsConfig));
  }

  private ClusterDefaults clusterDefaults() {
    try {
      CephFsOptions.requireAll(
          Map.of("kernelMountOptions", kernelMountOptions, "fuseMountOptions", fuseMountOptions));
    } catch (VolumeException e) {
      throw new ConfigException(String.valueOf(e.getMessage()), e);
    }
    List<String> labels =
        crushLabels.stream()
            .flatMap(Stream::ofNullable)
            .filter(label -> readAffinity && !label.isBlank())
            .toList();
    return new ClusterDefaults(kernelMountOptions, fuseMountOptions, labels, cephFsNamespace);
  }

  private CloneLimits cloneLimits() {
    try {
      return new CloneLimits(hardDepth, softDepth, maxSnapshots, minSnapshots);
    } catch (VolumeException e) {
      throw new ConfigException(String.valueOf(e.getMessage()), e);
    }
  }
}
