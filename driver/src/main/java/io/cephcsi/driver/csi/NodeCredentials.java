package io.cephcsi.driver.csi;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.CredentialsDirectory;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.node.ClusterUsers;
import java.util.Map;
import java.util.Optional;

/**
 * Whose credentials a node uses: those of the request, or the driver's own.
 *
 * @param storage which storage is served
 * @param directory the driver's own; empty without
 */
public record NodeCredentials(Storage storage, Optional<CredentialsDirectory> directory) {
  /**
   * The credentials for a cluster that a request has, else the driver's own; none when there are
   * neither.
   *
   * @throws io.cephcsi.driver.volume.VolumeException UNAUTHENTICATED when the request has half of
   *     them
   */
  public ClusterUsers users(Map<String, String> secrets) {
    if (secrets.isEmpty()) {
      return this::own;
    }
    Optional<Credentials> given = Optional.of(storage.credentials(secrets));
    return clusterId -> given;
  }

  /** The driver's own credentials for a cluster; empty when there are none. */
  public Optional<Credentials> own(String clusterId) {
    return directory.flatMap(folder -> folder.find(clusterId));
  }
}
