package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.DaemonThreads;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether the clusters can let the clients of subvolumes stand still, which snapshots of several of
 * them need. Asked in the background with the driver's own credentials, until there are credentials
 * for a cluster and all such clusters have answered once: what is advertised does not change from
 * then on. Safe for several threads.
 */
public final class QuiesceSupport implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(QuiesceSupport.class);
  private static final Set<String> DAEMONS = Set.of("mgr", "mds");
  private static final int FIRST_RELEASE = 19;
  private static final int RETRY_SECONDS = 5;
  private static final int PATIENCE_SECONDS = 5;

  private final CompletableFuture<Boolean> answer = new CompletableFuture<>();
  private final ScheduledExecutorService timer =
      Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("quiesce-support"));

  private QuiesceSupport() {}

  /** Without credentials of the driver no cluster can be asked, and nothing is advertised. */
  public static QuiesceSupport none() {
    QuiesceSupport support = new QuiesceSupport();
    support.answer.complete(false);
    return support;
  }

  /** Begins to ask. */
  @SuppressWarnings("FutureReturnValueIgnored") // it runs until the timer is closed
  public static QuiesceSupport start(DriverConnections access) {
    QuiesceSupport support = new QuiesceSupport();
    support.timer.scheduleWithFixedDelay(
        () -> support.ask(access), 0, RETRY_SECONDS, TimeUnit.SECONDS);
    return support;
  }

  private void ask(DriverConnections access) {
    if (answer.isDone()) {
      timer.shutdown();
      return;
    }
    try {
      List<ClusterConfig> clusters = access.clusters();
      if (clusters.isEmpty()) {
        return; // such as a Secret that is not there yet
      }
      boolean all =
          clusters.stream()
              .allMatch(cluster -> access.connected(cluster, QuiesceSupport::canQuiesce));
      LOG.info("group snapshots are {}advertised", all ? "" : "not ");
      answer.complete(all);
    } catch (RuntimeException e) { // such as a cluster that cannot be reached yet
      LOG.warn("whether the clusters can quiesce is not known yet: {}", e.toString());
    }
  }

  /** Whether all clusters can; false as long as some have not answered. Does not block. */
  public CompletableFuture<Boolean> advertised() {
    return answer.copy().completeOnTimeout(false, PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  /** Whether all managers and MDSs of a cluster know the command; one round trip. */
  static boolean canQuiesce(Lease lease) {
    OptionalInt oldest = MonitorQueries.oldestRelease(lease.cluster(), DAEMONS);
    return oldest.isPresent() && oldest.getAsInt() >= FIRST_RELEASE;
  }

  /**
   * Requires that a cluster can quiesce; one round trip.
   *
   * @throws VolumeException UNIMPLEMENTED if it cannot
   * @throws CephException if it does not answer
   */
  static void require(Lease lease) {
    OptionalInt oldest = MonitorQueries.oldestRelease(lease.cluster(), DAEMONS);
    if (oldest.isEmpty() || oldest.getAsInt() < FIRST_RELEASE) {
      throw new VolumeException(
          Reason.UNIMPLEMENTED,
          "cluster \""
              + lease.config().clusterId()
              + "\" cannot quiesce file systems, which group snapshots need: managers and"
              + " MDSs must be of Ceph "
              + FIRST_RELEASE
              + " or newer"
              + (oldest.isPresent() ? ", and one is of " + oldest.getAsInt() : ""));
    }
  }

  @Override
  public void close() {
    timer.shutdownNow();
  }
}
