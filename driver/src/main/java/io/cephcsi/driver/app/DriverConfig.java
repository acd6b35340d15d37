package io.cephcsi.driver.app;

import static io.cephcsi.driver.app.ConfigException.require;

import io.cephcsi.driver.cluster.ClusterDefaults;
import io.cephcsi.driver.cluster.OwnNode;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.kms.KmsConfig;
import io.cephcsi.driver.metrics.MetricsEndpoint;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * What one process serves, validated.
 *
 * @param clustersFile ceph-csi's config.json
 * @param clusterDefaults what holds for clusters that it does not say it of
 * @param metrics where Prometheus reads metrics
 * @param connectTimeout how long connecting to a cluster may take
 * @param operationTimeout how long one operation of a cluster may take
 * @param gracePeriod how long running calls may go on after SIGTERM
 * @param slowCalls after how long a call that still runs is logged, and then again; 0 for never
 * @param copyWait how long a CreateVolume waits for a copy that CephFS makes; 0 for not at all
 * @param reclaims how many volumes of one cluster are reclaimed at once
 * @param reclaimsPerCluster how many images of a cluster are reclaimed at once by all drivers
 *     together; 0 for no bound
 * @param drivers what is served, one socket each
 * @param cloneLimits how long chains of RBD clones may get
 * @param imageLabels what is written into the metadata of RBD images
 * @param groupsKeepVolumes whether a volume group that has volumes is not deleted with them
 * @param kmsFile ceph-csi's configuration of KMS; need not be there
 */
public record DriverConfig(
    Path clustersFile,
    ClusterDefaults clusterDefaults,
    MetricsEndpoint metrics,
    Duration connectTimeout,
    Duration operationTimeout,
    Duration gracePeriod,
    Duration slowCalls,
    Duration copyWait,
    int reclaims,
    int reclaimsPerCluster,
    List<Driver> drivers,
    CloneLimits cloneLimits,
    ImageLabels imageLabels,
    boolean groupsKeepVolumes,
    Path kmsFile) {
  /** How many images of a cluster are reclaimed at once unless it is configured. */
  public static final int RECLAIMS_PER_CLUSTER = 4;

  /** After how long calls are logged unless it is configured. */
  public static final Duration SLOW_CALLS = Duration.ofSeconds(30);

  /** How long a CreateVolume waits for a copy unless it is configured. */
  public static final Duration COPY_WAIT = Duration.ofSeconds(10);

  /** Checks what the fields cannot say alone. */
  public DriverConfig {
    drivers = List.copyOf(drivers);
    require(!drivers.isEmpty(), "no driver is configured");
    require(metrics.port() >= 0 && metrics.port() <= 65535, "metricsPort must be 0 to 65535");
    require(metrics.path().startsWith("/"), "metricsPath must begin with /");
    require(reclaims >= 1 && reclaims <= 64, "reclaims must be 1 to 64");
    require(
        reclaimsPerCluster >= 0 && reclaimsPerCluster <= 1000,
        "reclaimsPerCluster must be 0 to 1000");
    require(atLeastOneSecond(connectTimeout), "connectTimeout must be at least 1 s");
    require(atLeastOneSecond(operationTimeout), "operationTimeout must be at least 1 s");
    require(!copyWait.isNegative() && copyWait.toSeconds() <= 3600, "copyWait must be 0 to 3600 s");
    require(!gracePeriod.isNegative(), "gracePeriod must not be negative");
    Set<Path> sockets = new HashSet<>();
    for (Driver driver : drivers) {
      require(
          sockets.add(absolute(driver.endpoint())),
          "two drivers have the endpoint " + driver.endpoint());
      driver
          .addonsEndpoint()
          .ifPresent(
              path ->
                  require(sockets.add(absolute(path)), "two servers have the endpoint " + path));
    }
  }

  private static Path absolute(Path path) {
    return path.toAbsolutePath().normalize();
  }

  /** With the usual bounds and limits, and no labels. */
  public DriverConfig(
      Path clustersFile,
      MetricsEndpoint metrics,
      Duration connectTimeout,
      Duration operationTimeout,
      Duration gracePeriod,
      int reclaims,
      List<Driver> drivers) {
    this(
        clustersFile,
        ClusterDefaults.NONE,
        metrics,
        connectTimeout,
        operationTimeout,
        gracePeriod,
        SLOW_CALLS,
        COPY_WAIT,
        reclaims,
        RECLAIMS_PER_CLUSTER,
        drivers,
        CloneLimits.DEFAULT,
        ImageLabels.NONE,
        false,
        KmsConfig.DEFAULT_FILE);
  }

  /** The file with the clients of the process, beside the socket of its first driver. */
  Path clientsFile() {
    Path socket = absolute(drivers.get(0).endpoint());
    return socket.resolveSibling(socket.getFileName() + ".clients");
  }

  private static boolean atLeastOneSecond(Duration duration) {
    return duration.toSeconds() >= 1;
  }

  /** Which storage a driver serves. */
  public enum Type {
    /** RADOS block devices. */
    RBD("rbd.csi.ceph.com", Storage.RBD),
    /** The Ceph file system. */
    CEPHFS("cephfs.csi.ceph.com", Storage.CEPHFS);

    private final String defaultName;
    private final Storage storage;

    Type(String defaultName, Storage storage) {
      this.defaultName = defaultName;
      this.storage = storage;
    }

    /** The storage, as clusters know it. */
    public Storage storage() {
      return storage;
    }

    /** The name of the driver unless it is configured. */
    public String defaultName() {
      return defaultName;
    }
  }

  /**
   * One driver.
   *
   * @param type which storage
   * @param name the driver's name in the CSI sense
   * @param endpoint the socket of the CSI services
   * @param addonsEndpoint a socket of its own for CSI-Addons; else they are served beside CSI's
   * @param nodeId the id of this node; may be empty on a controller
   * @param instanceId tells several drivers on one pool apart
   * @param controller whether the controller's services are served
   * @param node whether the node's services are served
   * @param credentials the folder with credentials of the driver's own, one sub-folder a cluster
   * @param attach whether volumes are published even while no node is registered
   * @param nodeSettings how a node is served
   */
  public record Driver(
      Type type,
      String name,
      Path endpoint,
      Optional<Path> addonsEndpoint,
      String nodeId,
      String instanceId,
      boolean controller,
      boolean node,
      Optional<Path> credentials,
      boolean attach,
      NodeSettings nodeSettings) {
    private static final Pattern NAME =
        Pattern.compile("[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?");

    /** A driver without credentials of its own. */
    public Driver(
        Type type,
        String name,
        Path endpoint,
        Optional<Path> addonsEndpoint,
        String nodeId,
        String instanceId,
        boolean controller,
        boolean node) {
      this(
          type,
          name,
          endpoint,
          addonsEndpoint,
          nodeId,
          instanceId,
          controller,
          node,
          Optional.empty(),
          false);
    }

    /** A driver with the usual settings for a node. */
    public Driver(
        Type type,
        String name,
        Path endpoint,
        Optional<Path> addonsEndpoint,
        String nodeId,
        String instanceId,
        boolean controller,
        boolean node,
        Optional<Path> credentials,
        boolean attach) {
      this(
          type,
          name,
          endpoint,
          addonsEndpoint,
          nodeId,
          instanceId,
          controller,
          node,
          credentials,
          attach,
          NodeSettings.DEFAULT);
    }

    /** Checks the name and what belongs together. */
    public Driver {
      require(
          NAME.matcher(name).matches(),
          "driver name \"" + name + "\" must be a domain name of at most 63 characters");
      require(!instanceId.isEmpty(), "instanceId must not be empty");
      require(!node || !nodeId.isEmpty(), "nodeId is required to serve a node");
      require(!attach || credentials.isPresent(), "attach needs credentials");
    }

    /** The node that is served, as the clusters know it. */
    OwnNode ownNode() {
      return new OwnNode(nodeId, nodeSettings.maxVolumes());
    }
  }
}
