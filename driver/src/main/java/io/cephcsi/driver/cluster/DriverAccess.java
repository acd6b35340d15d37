package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * Clusters as the driver itself may use them, for calls that carry no secrets and for its own
 * bookkeeping. Safe for several threads.
 */
public final class DriverAccess {
  private final ClusterDirectory clusters;
  private final CredentialsDirectory credentials;
  private final ConnectionPool connections;
  private final Storage storage;

  /**
   * @param storage which storage is served
   * @param clusters the configured clusters
   * @param credentials the driver's own credentials
   * @param connections connections to the clusters
   */
  public DriverAccess(
      Storage storage,
      ClusterDirectory clusters,
      CredentialsDirectory credentials,
      ConnectionPool connections) {
    this.storage = storage;
    this.clusters = clusters;
    this.credentials = credentials;
    this.connections = connections;
  }

  /**
   * The configured clusters that the driver has credentials for, sorted by id. Of several ids for
   * the same monitors and namespace only the first is there: they are one place, and what is in it
   * must not be listed twice.
   */
  public List<ClusterConfig> clusters() {
    Map<String, ClusterConfig> configured = clusters.clusters();
    List<ClusterConfig> usable = new ArrayList<>();
    Set<List<String>> places = new HashSet<>();
    for (String id : credentials.clusterIds()) {
      ClusterConfig config = configured.get(id);
      if (config != null && places.add(place(config))) {
        usable.add(config);
      }
    }
    return usable;
  }

  private List<String> place(ClusterConfig config) {
    List<String> place = new ArrayList<>(config.monitors().stream().sorted().toList());
    place.add(storage.namespace(config));
    return place;
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

  /** A cluster by its id; empty when it is not configured. */
  public Optional<ClusterConfig> find(String clusterId) {
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
    return credentials
        .find(clusterId)
        .orElseThrow(
            () ->
                new VolumeException(
                    Reason.UNAUTHENTICATED,
                    "no credentials for cluster \""
                        + clusterId
                        + "\": neither secrets nor a folder of --credentials"));
  }

  /** Works on a cluster with the driver's own credentials. */
  public <T> T connected(ClusterConfig cluster, Function<Lease, T> work) {
    return connected(cluster, credentials(cluster.clusterId(), Map.of()), work);
  }

  /** Works on a cluster; a connection that turns out blocklisted is replaced. */
  public <T> T connected(ClusterConfig cluster, Credentials user, Function<Lease, T> work) {
    try (Lease lease = connections.lease(cluster, user)) {
      try {
        return work.apply(lease);
      } catch (CephException.Blocklisted e) {
        lease.discard();
        throw e;
      }
    }
  }
}
