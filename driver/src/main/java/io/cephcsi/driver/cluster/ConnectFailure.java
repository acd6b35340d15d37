package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.net.InetSocketAddress;
import java.util.Optional;

/** Says why a cluster could not be connected. */
final class ConnectFailure {
  private ConnectFailure() {}

  /** What to throw for an error of connecting; may resolve the names of monitors. */
  static RuntimeException of(ClusterConfig config, Credentials credentials, CephException e) {
    if (e.errno() == Errno.EINVAL || e.errno() == Errno.ENOENT || e.errno() == Errno.ETIMEDOUT) {
      // librados says the same of a key and of an address that it cannot read, and takes a port
      // that is too large for another one.
      for (String monitor : config.monitors()) {
        Optional<VolumeException> problem = addressProblem(config, monitor, e);
        if (problem.isPresent()) {
          return problem.get();
        }
      }
    }
    return switch (e.errno()) {
      // A key that is not base64 of a key is EINVAL (from Ceph 20 on EACCES), an unknown user or a
      // wrong key EACCES; without a usable key librados says ENOTSUP or ENOENT.
      case EACCES, EPERM, EINVAL, ENOENT, EOPNOTSUPP ->
          new VolumeException(
              Reason.UNAUTHENTICATED,
              "cluster \""
                  + config.clusterId()
                  + "\" refuses "
                  + credentials
                  + " ("
                  + e.errno()
                  + "): check userID and userKey"
                  + keyProblem(credentials, e),
              e);
      case ETIMEDOUT ->
          new VolumeException(
              Reason.UNAVAILABLE,
              "cluster \"" + config.clusterId() + "\" does not answer at " + config.monitors(),
              e);
      default -> e;
    };
  }

  /** EACCES is the cluster's word, so the key could be read; the others come before it is asked. */
  private static String keyProblem(Credentials credentials, CephException e) {
    return e instanceof CephException.Denied || !credentials.isAes256k()
        ? ""
        : "; the key is of the type aes256k, which the installed librados cannot read (19.2.6,"
            + " 20.2.4 and newer can): update it, or give the user a key of the type aes if the"
            + " cluster allows that";
  }

  private static Optional<VolumeException> addressProblem(
      ClusterConfig config, String monitor, CephException e) {
    String where = "config.json: monitors of cluster \"" + config.clusterId() + "\": ";
    try {
      for (MonitorAddress address : MonitorAddress.parse(monitor)) {
        if (new InetSocketAddress(address.host(), 0).isUnresolved()) {
          return Optional.of(
              new VolumeException(
                  Reason.UNAVAILABLE, where + address.host() + " cannot be resolved", e));
        }
      }
      return Optional.empty();
    } catch (IllegalArgumentException malformed) {
      return Optional.of(
          new VolumeException(Reason.FAILED_PRECONDITION, where + malformed.getMessage(), e));
    }
  }
}
