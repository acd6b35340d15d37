package io.cephcsi.driver.cluster;

import io.cephcsi.driver.volume.VolumeException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The threads that may block on a cluster: bounded, apart for each cluster, and apart for calls and
 * for long work, so that one cluster that hangs, or many reclaims, hold up nothing else; nor does a
 * call in a {@link LongStep}. A full queue refuses.
 */
public final class ClusterExecutors implements AutoCloseable {
  private static final int QUEUE = 1000;

  /** In the place of a cluster that a call does not tell. */
  public static final String NOT_SAID = "";

  private static final String NOT_CONFIGURED = "(not configured)";

  private final ClusterDirectory clusters;
  private final int callThreads;
  private final int longThreads;
  private final Map<Name, ThreadPoolExecutor> executors = new ConcurrentHashMap<>();

  /**
   * @param clusters the clusters that get threads; an id that is not among them is a mistake of a
   *     caller, and all such share one pool, so that they cannot make pools without end
   * @param callThreads how many calls of one cluster run at once
   * @param longThreads how many long operations of one cluster run at once
   */
  public ClusterExecutors(ClusterDirectory clusters, int callThreads, int longThreads) {
    this.clusters = clusters;
    this.callThreads = callThreads;
    this.longThreads = longThreads;
  }

  /** For calls that end soon; RBD and CephFS of a cluster apart: managers have no timeout. */
  public Executor calls(Storage storage, String clusterId) {
    return executor(storage == Storage.RBD ? "calls-" : "calls-cephfs-", clusterId, callThreads);
  }

  /** For work of minutes. */
  public Executor longWork(String clusterId) {
    return executor("long-", clusterId, longThreads);
  }

  /**
   * For the many small reads of a list; the thread that waits for them is of another of these
   * pools.
   */
  public Executor reads(Storage storage, String clusterId) {
    return executor(storage == Storage.RBD ? "reads-" : "reads-cephfs-", clusterId, callThreads);
  }

  /** For answers in many messages, which take as long as their clients do. */
  public Executor streams(String clusterId) {
    return executor("streams-", clusterId, callThreads);
  }

  /** For calls that are about all clusters; RBD and CephFS apart. */
  public Executor lists(Storage storage) {
    return executors.computeIfAbsent(
        new Name(storage == Storage.RBD ? "lists" : "lists-cephfs", NOT_SAID),
        name -> new CallThreads(name.kind(), callThreads, QUEUE));
  }

  private Executor executor(String kind, String clusterId, int threads) {
    ThreadPoolExecutor known = executors.get(new Name(kind, clusterId));
    if (known != null) {
      return known;
    }
    return executors.computeIfAbsent(
        new Name(kind, isConfigured(clusterId) ? clusterId : NOT_CONFIGURED),
        missing -> new CallThreads(missing.kind() + missing.cluster(), threads, QUEUE));
  }

  private boolean isConfigured(String clusterId) {
    try {
      return clusters.clusters().containsKey(clusterId);
    } catch (VolumeException e) {
      return false; // nothing is configured yet: the call itself says so
    }
  }

  /**
   * Waits for work that runs, refuses more.
   *
   * @return whether all ended in time
   */
  public boolean shutdown(long timeout, TimeUnit unit) throws InterruptedException {
    long end = System.nanoTime() + unit.toNanos(timeout);
    executors.values().forEach(ThreadPoolExecutor::shutdown);
    boolean ended = true;
    for (ThreadPoolExecutor executor : executors.values()) {
      ended &=
          executor.awaitTermination(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
    }
    return ended;
  }

  /** Refuses more work at once. */
  @Override
  public void close() {
    executors.values().forEach(ThreadPoolExecutor::shutdownNow);
  }

  /** Whose threads they are, and what for: one text of both could be another's, too. */
  private record Name(String kind, String cluster) {}
}
