package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.OptionalInt;
import java.util.Set;

/**
 * Whether the MDSs of a cluster keep how a directory is encrypted. Those of Ceph 16 take it from
 * the kernel without an error and forget it: what was written is lost with the mount.
 */
final class FileEncryptionSupport {
  private static final Set<String> DAEMONS = Set.of("mds");
  private static final int FIRST_RELEASE = 17;

  private FileEncryptionSupport() {}

  /**
   * Requires it; one round trip.
   *
   * @throws VolumeException FAILED_PRECONDITION if one does not, or that is not known
   */
  static void require(Lease lease) {
    OptionalInt oldest = MonitorQueries.oldestRelease(lease.cluster(), DAEMONS);
    if (oldest.isEmpty() || oldest.getAsInt() < FIRST_RELEASE) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "cluster \""
              + lease.config().clusterId()
              + "\" does not keep encrypted files of CephFS: all MDSs must be of Ceph "
              + FIRST_RELEASE
              + " or newer"
              + (oldest.isPresent() ? ", and one is of " + oldest.getAsInt() : ""));
    }
  }
}
