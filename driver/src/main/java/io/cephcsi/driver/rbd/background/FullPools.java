package io.cephcsi.driver.rbd.background;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.cluster.PoolInfo;
import java.time.Duration;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which pools are full, remembered for some seconds: the manager's tasks wait there, also those
 * that would free space. Safe for several threads.
 */
final class FullPools {
  private static final Logger LOG = LoggerFactory.getLogger(FullPools.class);
  private static final Duration REMEMBERED = Duration.ofSeconds(5);
  private static final int MOST_CLUSTERS = 100;

  private final Cache<String, Set<Long>> full =
      Caffeine.newBuilder().maximumSize(MOST_CLUSTERS).expireAfterWrite(REMEMBERED).build();

  /** Whether the pool of an image or that of its data is; at most one round trip to a monitor. */
  boolean containEither(RadosCluster cluster, long poolId, long dataPoolId) {
    Set<Long> known = full.get(cluster.fsid(), fsid -> ask(cluster));
    return known.contains(poolId) || known.contains(dataPoolId);
  }

  private static Set<Long> ask(RadosCluster cluster) {
    try {
      return MonitorQueries.pools(cluster).stream()
          .filter(PoolInfo::full)
          .map(PoolInfo::id)
          .collect(Collectors.toSet());
    } catch (CephException e) {
      LOG.debug("it is not known which pools are full: {}", e.getMessage());
      return Set.of();
    }
  }
}
