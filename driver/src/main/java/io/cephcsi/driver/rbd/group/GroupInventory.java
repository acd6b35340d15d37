package io.cephcsi.driver.rbd.group;

import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.Listing;
import io.cephcsi.driver.volume.ListPage;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeGroup;
import java.util.Map;
import java.util.Optional;

/**
 * Lists volume groups: on the clusters that the driver has credentials for, or, without such, on
 * all configured ones.
 *
 * @param own the clusters with credentials of the driver's own
 * @param clusters the configured clusters
 * @param connections connections to them
 * @param executors threads to read with
 * @param instanceId tells several drivers on one pool apart
 */
public record GroupInventory(
    Optional<DriverConnections> own,
    ClusterDirectory clusters,
    ConnectionPool connections,
    ClusterExecutors executors,
    String instanceId) {
  /**
   * A page; see {@link Listing} and {@link GroupReader} for what it costs.
   *
   * @param secrets of the request; without any the driver's own credentials are used
   * @throws VolumeException UNAUTHENTICATED when there are neither; and as of {@link Listing}
   */
  public ListPage<VolumeGroup> groups(Map<String, String> secrets, int maxEntries, String token) {
    return new Listing<>(
            access(secrets),
            executors,
            JournalKind.GROUP,
            instanceId,
            new GroupReader(instanceId),
            maxEntries,
            token)
        .read();
  }

  private DriverConnections access(Map<String, String> secrets) {
    if (secrets.isEmpty()) {
      return own.orElseThrow(
          () ->
              new VolumeException(
                  Reason.UNAUTHENTICATED, "neither secrets nor a folder of --credentials"));
    }
    Credentials caller = Storage.RBD.credentials(secrets);
    return own.map(access -> access.as(caller))
        .orElseGet(() -> DriverConnections.byCaller(Storage.RBD, clusters, caller, connections));
  }
}
