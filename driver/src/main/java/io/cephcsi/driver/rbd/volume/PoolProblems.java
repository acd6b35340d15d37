package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.cluster.PoolInfo;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Explains after a failure which pool of a StorageClass cannot hold images. */
final class PoolProblems {
  private static final Logger LOG = LoggerFactory.getLogger(PoolProblems.class);
  private static final String RBD = "rbd";

  private PoolProblems() {}

  /**
   * What to throw for an error; one round trip when the pools may explain it.
   *
   * @return the error itself when they do not
   */
  static RuntimeException explain(Lease lease, RbdParameters parameters, CephException e) {
    return switch (e.errno()) {
      case EINVAL, EOPNOTSUPP, EPERM, EACCES, ENXIO, EIO, EDOM -> {
        try {
          yield find(lease, parameters, e).map(RuntimeException.class::cast).orElse(e);
        } catch (CephException other) {
          LOG.debug("the pools do not explain {}: {}", e.getMessage(), other.getMessage());
          yield e;
        }
      }
      default -> e;
    };
  }

  private static Optional<VolumeException> find(
      Lease lease, RbdParameters parameters, CephException e) {
    for (PoolInfo pool : MonitorQueries.pools(lease.cluster())) {
      boolean ofImages =
          pool.name().equals(parameters.pool()) || pool.name().equals(parameters.journalPool());
      boolean ofData = parameters.options().dataPool().filter(pool.name()::equals).isPresent();
      if (ofImages && pool.erasureCoded()) {
        return Optional.of(
            problem(
                e,
                pool,
                "is erasure-coded: set pool to a replicated pool and dataPool to this one"));
      }
      if ((ofImages || ofData) && !pool.applications().contains(RBD)) {
        return Optional.of(
            problem(
                e, pool, "does not have the application rbd (ceph osd pool application enable)"));
      }
      if (ofData && pool.erasureCoded()) {
        return Optional.of(problem(e, pool, "must allow overwrites (allow_ec_overwrites)"));
      }
    }
    return Optional.empty();
  }

  private static VolumeException problem(CephException e, PoolInfo pool, String what) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "parameters: pool " + pool.name() + " " + what + " (" + e.getMessage() + ")",
        e);
  }
}
