package io.cephcsi.driver.cluster;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connections with the driver's own credentials, for calls that carry no secrets and for the
 * driver's own records. Safe for several threads.
 */
public final class DriverConnections {
  private static final Logger LOG = LoggerFactory.getLogger(DriverConnections.class);

  private final ClusterDirectory clusters;
  private final Source credentials;
  private final ConnectionPool connections;
  private final Storage storage;

  /**
   * @param storage which storage is served
   * @param clusters the configured clusters
   * @param credentials the driver's own credentials
   * @param connections connections to the clusters
   */
  public DriverConnections(
      Storage storage,
      ClusterDirectory clusters,
      CredentialsDirectory credentials,
      ConnectionPool connections) {
    this(
        storage,
        clusters,
        new Source(credentials::clusterIds, credentials::find, false),
        connections);
  }

  private DriverConnections(
      Storage storage, ClusterDirectory clusters, Source credentials, ConnectionPool connections) {
    this.storage = storage;
    this.clusters = clusters;
    this.credentials = credentials;
    this.connections = connections;
  }

  /** Access to all configured clusters by the credentials of a caller alone. */
  public static DriverConnections byCaller(
      Storage storage, ClusterDirectory clusters, Credentials caller, ConnectionPool connections) {
    return new DriverConnections(
        storage,
        clusters,
        new Source(
            () -> {
              clusters.requireUsable(); // or some would be left out
              return clusters.clusters().keySet().stream().sorted().toList();
            },
            id -> Optional.of(caller),
            true),
        connections);
  }

  /** Access to the same clusters by the credentials of a caller. */
  public DriverConnections as(Credentials caller) {
    return new DriverConnections(
        storage,
        clusters,
        new Source(credentials.ids(), id -> Optional.of(caller), true),
        connections);
  }

  /** As {@link #as}, with the credentials in the secrets of a request; this one without any. */
  public DriverConnections of(Map<String, String> secrets) {
    return secrets.isEmpty() ? this : as(storage.credentials(secrets));
  }

  /**
   * The configured clusters that the driver has credentials for, sorted by id. Of several ids for
   * the same monitors and namespace, and the same group of CephFS subvolumes, only the first is
   * there: they are the same storage, whose content must not be listed twice.
   */
  public List<ClusterConfig> clusters() {
    Map<String, ClusterConfig> configured = clusters.clusters();
    List<ClusterConfig> usable = new ArrayList<>();
    Set<List<String>> targets = new HashSet<>();
    for (String id : credentials.ids().get()) {
      ClusterConfig config = configured.get(id);
      if (config != null && targets.add(target(config))) {
        usable.add(config);
      }
    }
    return usable;
  }

  /**
   * As {@link #clusters}, for lists, which must not lack a cluster that is meant to be there.
   *
   * @throws VolumeException UNAVAILABLE when the configuration of one cannot be used
   */
  public List<ClusterConfig> allClusters() {
    clusters.requireUsable(credentials.ids().get());
    return clusters();
  }

  /**
   * As {@link #allClusters}; with a caller's credentials those of one journal, which differ in the
   * group of CephFS subvolumes alone, are together: the caller may be allowed to read one group and
   * not the others. With the driver's own, each is by itself: those of a clusterID are for it.
   */
  public List<List<ClusterConfig>> allJournals() {
    Map<List<String>, List<ClusterConfig>> journals = new LinkedHashMap<>();
    for (ClusterConfig config : allClusters()) {
      List<String> key = credentials.ofCaller() ? journal(config) : target(config);
      journals.computeIfAbsent(key, journal -> new ArrayList<>()).add(config);
    }
    return List.copyOf(journals.values());
  }

  /** Whether two are the same storage, but for the group of CephFS subvolumes. */
  public boolean shareJournal(ClusterConfig one, ClusterConfig other) {
    return journal(one).equals(journal(other));
  }

  private List<String> target(ClusterConfig config) {
    List<String> target = journal(config);
    target.add(storage.group(config));
    return target;
  }

  private List<String> journal(ClusterConfig config) {
    List<String> journal = new ArrayList<>(config.monitors().stream().sorted().toList());
    journal.add(storage.namespace(config));
    return journal;
  }

  /** Which storage is served. */
  public Storage storage() {
    return storage;
  }

  /**
   * A cluster by its id.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is not configured
   */
  public ClusterConfig require(String clusterId) {
    return clusters.require(clusterId);
  }

  /** As {@link ClusterDirectory#requireHolding}, of a volume. */
  public void requireHolding(VolumeId id) {
    clusters.requireHolding(id, "volume");
  }

  /** As {@link ClusterDirectory#find}. */
  public Optional<ClusterConfig> find(String clusterId) {
    return clusters.find(clusterId);
  }

  /** A cluster by its id; empty also when its entry of the configuration cannot be used. */
  public Optional<ClusterConfig> usable(String clusterId) {
    return Optional.ofNullable(clusters.clusters().get(clusterId));
  }

  /**
   * The credentials for a request on a cluster: those that it carries, else the driver's own.
   *
   * @param secrets of the request; may be empty
   * @throws VolumeException UNAUTHENTICATED when there are neither
   */
  public Credentials credentials(String clusterId, Map<String, String> secrets) {
    if (!secrets.isEmpty()) {
      return storage.credentials(secrets);
    }
    return own(clusterId).orElseThrow(() -> none(clusterId));
  }

  /**
   * As {@link #credentials(String, Map)}, for something whose id may be of another site: where the
   * driver has none for its cluster, those for the first cluster that stands for it by the mapping.
   *
   * @throws VolumeException UNAUTHENTICATED when there are none; FAILED_PRECONDITION if the mapping
   *     is needed and is not as it must be
   */
  public Credentials credentials(VolumeId id, Map<String, String> secrets) {
    if (!secrets.isEmpty()) {
      return storage.credentials(secrets);
    }
    return own(id.clusterId())
        .or(
            () ->
                clusters.mapping().alternatives(id).stream()
                    .flatMap(at -> own(at.clusterId()).stream())
                    .findFirst())
        .orElseThrow(() -> none(id.clusterId()));
  }

  private Optional<Credentials> own(String clusterId) {
    return credentials.of().apply(clusterId);
  }

  private static VolumeException none(String clusterId) {
    return new VolumeException(
        Reason.UNAUTHENTICATED,
        "no credentials for cluster \""
            + clusterId
            + "\": the request has no secrets, and the folder of --credentials has"
            + " no files for this cluster (a Secret that is not there yet?)");
  }

  /**
   * Connects to all clusters in the background, with the driver's own credentials: what a
   * connection brings with it is done before a call comes.
   */
  public void connectSoon() {
    DaemonThreads.of("connect", this::connectAll).start();
  }

  private void connectAll() {
    try {
      clusters().forEach(this::connectOne);
    } catch (RuntimeException e) { // as for one of them
      LOG.info("the clusters are not connected yet: {}", e.toString());
    }
  }

  private void connectOne(ClusterConfig cluster) {
    try {
      Credentials own = credentials(cluster.clusterId(), Map.of());
      connections.with(cluster, own, lease -> {});
    } catch (RuntimeException e) { // the first call tries again
      LOG.info("cluster {} is not connected yet: {}", cluster.clusterId(), e.toString());
    }
  }

  /** Works on a cluster with the driver's own credentials. */
  public <T> T connected(ClusterConfig cluster, Function<Lease, T> work) {
    return connected(cluster, credentials(cluster.clusterId(), Map.of()), work);
  }

  /** Works on a cluster; as {@link ConnectionPool#connected}. */
  public <T> T connected(ClusterConfig cluster, Credentials user, Function<Lease, T> work) {
    return connections.connected(cluster, user, work);
  }

  /**
   * Which clusters there are credentials for, and which those are.
   *
   * @param ofCaller whether they are a caller's, the same for all clusters
   */
  private record Source(
      Supplier<List<String>> ids, Function<String, Optional<Credentials>> of, boolean ofCaller) {}
}
