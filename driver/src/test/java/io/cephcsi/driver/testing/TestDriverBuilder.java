package io.cephcsi.driver.testing;

import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.app.NodeSettings;
import io.cephcsi.driver.cluster.ClusterDefaults;
import io.cephcsi.driver.metrics.MetricsEndpoint;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How a {@link TestDriver} is started: unless told otherwise, as controller and node of the
 * instance {@code default}, with the credentials of the requests only.
 */
public final class TestDriverBuilder {
  private static final Duration LONGEST_CONNECT = Duration.ofSeconds(15);
  private static final Duration GRACE = Duration.ofSeconds(20);

  private final DriverConfig.Type type;
  private final TestCluster cluster;
  private String instanceId = "default";
  private Duration timeout = Duration.ofSeconds(30);
  private ClusterDefaults defaults = ClusterDefaults.NONE;
  private CloneLimits limits = CloneLimits.DEFAULT;
  private ImageLabels labels = ImageLabels.NONE;
  private Duration copyWait = DriverConfig.COPY_WAIT;
  private boolean credentials;
  private boolean node = true;
  private boolean attach;
  private Optional<Path> kms = Optional.empty();
  private String kmsId = "";
  private String encryptionType = "";
  private Optional<String> user = Optional.empty();
  private final Map<String, String> userOf = new LinkedHashMap<>();
  private boolean groupsKeepVolumes;
  private String clusters = "";
  private List<String> clusterIds = List.of(TestDriver.CLUSTER_ID, TestDriver.IN_NAMESPACE);

  TestDriverBuilder(DriverConfig.Type type, TestCluster cluster) {
    this.type = type;
    this.cluster = cluster;
  }

  /** Sets the id of the instance, which tells several drivers on one pool apart. */
  public TestDriverBuilder instance(String id) {
    instanceId = id;
    return this;
  }

  /** Sets how long one operation of the cluster may take; 30 s unless it is set. */
  public TestDriverBuilder timeout(Duration operation) {
    timeout = operation;
    return this;
  }

  /** Gives the driver credentials of its own, or none. */
  public TestDriverBuilder credentials(boolean own) {
    credentials = own;
    return this;
  }

  /** Gives the driver credentials of its own. */
  public TestDriverBuilder withCredentials() {
    return credentials(true);
  }

  /** Gives the driver the credentials of a user. */
  public TestDriverBuilder credentialsOf(String name) {
    user = Optional.of(name);
    return withCredentials();
  }

  /** Gives the driver those of another user for one of the clusterIDs. */
  public TestDriverBuilder credentialsOf(String name, String clusterId) {
    userOf.put(clusterId, name);
    return this;
  }

  /**
   * Serves the controller only, on a machine that is no node.
   *
   * @param publish whether volumes are published even while no node is registered
   */
  public TestDriverBuilder controllerOnly(boolean publish) {
    node = false;
    attach = publish;
    return this;
  }

  /** Sets what holds for clusters that do not say it. */
  public TestDriverBuilder clusterDefaults(ClusterDefaults clusters) {
    defaults = clusters;
    return this;
  }

  /** Sets how long chains of clones may get. */
  public TestDriverBuilder cloneLimits(CloneLimits clones) {
    limits = clones;
    return this;
  }

  /** Sets how long a CreateVolume waits for a copy of CephFS. */
  public TestDriverBuilder copyWait(Duration longest) {
    copyWait = longest;
    return this;
  }

  /** Sets what is written into the metadata of images. */
  public TestDriverBuilder imageLabels(ImageLabels images) {
    labels = images;
    return this;
  }

  /** Has volumes encrypted by a KMS of ceph-csi's configuration. */
  public TestDriverBuilder encrypted(Path kmsFile, String id) {
    kms = Optional.of(kmsFile);
    kmsId = id;
    return this;
  }

  /** Has the files of volumes encrypted, as {@link #encrypted} has their blocks. */
  public TestDriverBuilder encryptedFiles(Path kmsFile, String id) {
    encryptionType = "file";
    return encrypted(kmsFile, id);
  }

  /** Replaces the clusters. */
  public TestDriverBuilder clusters(String json, List<String> ids) {
    clusters = json;
    clusterIds = List.copyOf(ids);
    return this;
  }

  /** Does not delete volumes with their group. */
  public TestDriverBuilder keepingVolumes() {
    groupsKeepVolumes = true;
    return this;
  }

  /** Starts the driver; it serves once this returns. */
  public TestDriver start() {
    try {
      Path folder = Files.createTempDirectory("driver");
      Path socket = folder.resolve("csi.sock");
      return new TestDriver(type, cluster, instanceId, folder, config(folder, socket), socket)
          .encryptedBy(kmsId, encryptionType);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private DriverConfig config(Path folder, Path socket) throws IOException {
    return new DriverConfig(
        clusters.isEmpty()
            ? TestDriver.clustersFile(cluster, folder)
            : Files.writeString(folder.resolve("config.json"), clusters),
        defaults,
        MetricsEndpoint.NONE,
        timeout.compareTo(LONGEST_CONNECT) < 0 ? timeout : LONGEST_CONNECT,
        timeout,
        GRACE,
        DriverConfig.SLOW_CALLS,
        copyWait,
        2,
        4,
        List.of(driver(folder, socket)),
        limits,
        labels,
        groupsKeepVolumes,
        kms.orElse(folder.resolve("kms.json")));
  }

  private DriverConfig.Driver driver(Path folder, Path socket) throws IOException {
    return new DriverConfig.Driver(
        type,
        type.defaultName(),
        socket,
        Optional.empty(),
        node ? TestDriver.NODE_ID : "",
        instanceId,
        true,
        node,
        credentials ? Optional.of(credentialsFolder(folder)) : Optional.empty(),
        attach,
        node ? nodeSettings(folder) : NodeSettings.DEFAULT);
  }

  private Path credentialsFolder(Path folder) throws IOException {
    Path credentials =
        TestDriver.credentialsFolder(
            cluster, folder, user.orElse(TestDriver.user(cluster, type)), clusterIds);
    for (Map.Entry<String, String> other : userOf.entrySet()) {
      TestDriver.credentialsFolder(cluster, folder, other.getValue(), List.of(other.getKey()));
    }
    return credentials;
  }

  private static NodeSettings nodeSettings(Path folder) {
    return new NodeSettings(
        Optional.of(folder.resolve("node")),
        7,
        Map.of("topology.example.com/zone", "z1"),
        List.of(),
        0);
  }
}
