package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.volume.VolumeException;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shortest range of zeroes that sparsify frees. By default it is the allocation size of the
 * OSDs: shorter holes free nothing, and a longer size would miss some.
 */
final class SparseSize {
  private static final Logger LOG = LoggerFactory.getLogger(SparseSize.class);

  private SparseSize() {}

  /**
   * The size for an image, in bytes: a power of two from 4 KiB to the object size. Asks the
   * monitors (two round trips) when the plan leaves it open.
   */
  static long of(ReclaimPlan plan, RbdImage image) {
    long wanted = plan.sparseSize() > 0 ? plan.sparseSize() : allocationUnit(image);
    return Math.min(
        Math.max(Long.highestOneBit(wanted), ReclaimPlan.MIN_SPARSE_SIZE),
        image.info().objectSize());
  }

  private static long allocationUnit(RbdImage image) {
    RadosCluster cluster = image.pool().io().cluster();
    try {
      OptionalLong unit =
          MonitorQueries.allocationUnit(
              cluster, cluster.poolName(image.dataPoolId()), image.blockNamePrefix());
      return unit.orElse(ReclaimPlan.MIN_SPARSE_SIZE);
    } catch (CephException | VolumeException e) {
      LOG.debug("the allocation size of the OSDs is not known: {}", e.getMessage());
      return ReclaimPlan.MIN_SPARSE_SIZE;
    }
  }
}
