package io.cephcsi.driver.cli;

import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.CredentialsDirectory;
import io.cephcsi.driver.volume.VolumeException;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * How the commands that need no server reach a cluster: by a ceph.conf, or by the files that the
 * driver is deployed with. Never a key on the command line, where others can read it.
 */
final class ClusterOptions {
  private static final Path DEFAULT_CONF = Path.of("/etc/ceph/ceph.conf");

  @Option(
      names = {"-c", "--conf"},
      paramLabel = "FILE",
      description = "the cluster's ceph.conf (default: $CEPH_CONF, /etc/ceph/ceph.conf)")
  private @Nullable Path conf;

  @Option(
      names = {"--user", "--id"},
      paramLabel = "ID",
      description = "the Ceph user, without \"client.\" (default: admin)")
  private String user = "admin";

  @Option(names = "--keyring", paramLabel = "FILE", description = "the user's keyring file")
  private @Nullable Path keyring;

  @Option(
      names = "--cluster",
      paramLabel = "ID",
      description = "a clusterID of --clusters-file, instead of --conf")
  private @Nullable String cluster;

  @Option(
      names = "--clusters-file",
      paramLabel = "FILE",
      description = "the clusters, in the format of ceph-csi's config.json")
  private Path clustersFile = ClusterDirectory.DEFAULT_FILE;

  @Option(
      names = "--credentials-file",
      paramLabel = "FILE",
      description =
          "lines userID=... and userKey=..., for --cluster; or the folder of the driver's"
              + " --credentials")
  private @Nullable Path credentialsFile;

  @Option(
      names = "--operation-timeout",
      paramLabel = "SECONDS",
      description = "how long one operation of the cluster may take (default: 30)")
  private int operationSeconds = ProcessSettings.OPERATION_SECONDS;

  /** These options for another cluster of the file. */
  private ClusterOptions with(String clusterId) {
    ClusterOptions options = new ClusterOptions();
    options.cluster = clusterId;
    options.clustersFile = clustersFile;
    options.credentialsFile = credentialsFile;
    options.operationSeconds = operationSeconds;
    return options;
  }

  /** The options for each clusterID of the file, by cluster: several may be one cluster. */
  Map<List<String>, List<ClusterOptions>> ofEachCluster() {
    ConfigException.require(cluster == null, "--all-clusters and --cluster exclude each other");
    Map<List<String>, List<ClusterOptions>> all = new LinkedHashMap<>();
    new TreeMap<>(allClusters())
        .forEach(
            (id, config) ->
                all.computeIfAbsent(monitors(config), monitors -> new ArrayList<>()).add(with(id)));
    ConfigException.require(!all.isEmpty(), clustersFile + " has no clusters");
    return all;
  }

  private static List<String> monitors(ClusterConfig config) {
    return config.monitors().stream().sorted().toList();
  }

  /**
   * The clusterIDs that are this cluster, each with the RADOS namespace of its CephFS journal; none
   * if the cluster is not said by its clusterID. They are all only if {@link #knowsAllClusters}.
   */
  Map<String, String> cephFsJournals() {
    if (cluster == null) {
      return Map.of();
    }
    List<String> mine = monitors(config(cluster));
    Map<String, String> journals = new TreeMap<>();
    new ClusterDirectory(clustersFile)
        .clusters()
        .forEach(
            (id, config) -> {
              if (monitors(config).equals(mine)) {
                journals.put(id, config.cephFsNamespace());
              }
            });
    return journals;
  }

  /** Whether each clusterID is known: the file is used, and all of its entries can be. */
  boolean knowsAllClusters() {
    if (cluster == null) {
      return false;
    }
    try {
      allClusters();
      return true;
    } catch (VolumeException e) {
      return false;
    }
  }

  /**
   * Requires that each clusterID of the file can be used, if the cluster is said by one.
   *
   * @throws VolumeException UNAVAILABLE when one cannot
   */
  void requireAllClusters() {
    if (cluster != null) {
      allClusters();
    }
  }

  /** Each entry of the file must be usable: none may be left out. */
  private Map<String, ClusterConfig> allClusters() {
    ClusterDirectory directory = new ClusterDirectory(clustersFile);
    directory.requireUsable();
    return directory.clusters();
  }

  /** The clusterID; empty if the cluster is said by its ceph.conf. */
  String clusterId() {
    return cluster == null ? "" : cluster;
  }

  /** The RADOS namespace that images are in when their name does not say one. */
  String defaultNamespace() {
    return cluster == null ? "" : config(cluster).rbdNamespace();
  }

  /** The RADOS namespace of CephFS journals and trackers. */
  String cephFsNamespace() {
    return cluster == null ? ClusterConfig.CEPHFS_DEFAULT : config(cluster).cephFsNamespace();
  }

  /** The group of CephFS subvolumes. */
  String subvolumeGroup() {
    return cluster == null ? ClusterConfig.CEPHFS_DEFAULT : config(cluster).subvolumeGroup();
  }

  /**
   * Connects.
   *
   * @param options further options of Ceph's configuration
   */
  RadosCluster connect(Map<String, String> options) {
    ConnectionSettings.Builder settings = cluster == null ? byConf() : byCluster(cluster);
    settings
        .operationTimeout(Duration.ofSeconds(operationSeconds))
        // As the driver has it: what is written and discarded is done when librbd says so.
        .option("rbd_cache", "false");
    options.forEach(settings::option);
    return RadosCluster.connect(settings.build());
  }

  private ConnectionSettings.Builder byConf() {
    Path file = conf;
    if (file == null) {
      String environment = System.getenv("CEPH_CONF");
      file = environment == null ? DEFAULT_CONF : Path.of(environment);
    }
    if (!Files.isReadable(file)) {
      throw new ConfigException(file + " cannot be read: name a ceph.conf by --conf");
    }
    ConnectionSettings.Builder settings = ConnectionSettings.user(user).configFile(file);
    return keyring == null ? settings : settings.option("keyring", keyring.toString());
  }

  private ConnectionSettings.Builder byCluster(String id) {
    if (credentialsFile == null) {
      throw new ConfigException("--cluster needs --credentials-file");
    }
    Credentials credentials =
        Files.isDirectory(credentialsFile)
            ? new CredentialsDirectory(credentialsFile)
                .find(id)
                .orElseThrow(
                    () ->
                        new ConfigException(
                            credentialsFile + " has no folder for the cluster " + id))
            : Credentials.fromSecrets(secrets(credentialsFile));
    return ConnectionSettings.user(credentials.userId())
        .monitors(String.join(",", config(id).monitors()))
        .key(credentials.key());
  }

  private ClusterConfig config(String id) {
    return new ClusterDirectory(clustersFile).require(id);
  }

  private static Map<String, String> secrets(Path file) {
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(file)) {
      properties.load(reader);
    } catch (IOException | IllegalArgumentException e) {
      throw new ConfigException(file + " cannot be read: " + e.getMessage(), e);
    }
    Map<String, String> secrets = new HashMap<>();
    properties.stringPropertyNames().forEach(key -> secrets.put(key, properties.getProperty(key)));
    return secrets;
  }
}
