package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Empties the trash of deleted images in the background.
 *
 * <p>The deleting call ends when its image is in the trash and the journal has forgotten it: no
 * more is lost by a crash than time, as everything in the trash that no journal entry claims is
 * found again when a driver first works with the pool after its start. Removals are decided one
 * after the other, so that of the last two clones of an image one sees that the other goes.
 */
final class TrashPurger implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TrashPurger.class);
  private static final int QUEUE = 10_000;
  private static final long LAST_MOMENTS_SECONDS = 5;

  private final ConnectionPool connections;
  private final TrashReaper reaper;
  private final Set<Place> visited = ConcurrentHashMap.newKeySet();
  private final ThreadPoolExecutor worker =
      new ThreadPoolExecutor(
          1, 1, 30, TimeUnit.SECONDS, new LinkedBlockingQueue<>(QUEUE), TrashPurger::thread);

  TrashPurger(ConnectionPool connections, TrashReaper reaper) {
    this.connections = connections;
    this.reaper = reaper;
    worker.allowCoreThreadTimeOut(true);
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "trash");
    thread.setDaemon(true);
    return thread;
  }

  /** Looks, at the first call for a pool, what a driver that died left in its trash. */
  void visit(ClusterConfig cluster, Credentials credentials, IoContext io) {
    Place place = new Place(cluster.monitors().toString(), io.pool(), io.namespace());
    if (visited.add(place)) {
      submit(cluster, credentials, io.pool(), reaper::sweep);
    }
  }

  /** Removes an image from the trash soon. */
  void purge(ClusterConfig cluster, Credentials credentials, IoContext io, String imageId) {
    visit(cluster, credentials, io);
    submit(cluster, credentials, io.pool(), pool -> reaper.reap(pool, imageId));
  }

  private void submit(
      ClusterConfig cluster, Credentials credentials, String pool, Consumer<IoContext> work) {
    try {
      worker.execute(
          () -> {
            try (Lease lease = connections.lease(cluster, credentials)) {
              work.accept(lease.rbdPool(pool));
            } catch (RuntimeException e) {
              LOG.warn("the trash of {} is emptied later: {}", pool, e.toString());
              visited.clear(); // the next call looks again
            }
          });
    } catch (RejectedExecutionException e) {
      LOG.warn("too much in the trash of {} at once; the rest is removed later", pool);
      visited.clear();
    }
  }

  /** Ends what was begun if that does not take long; the rest waits for the next start. */
  @Override
  public void close() {
    worker.shutdown();
    try {
      if (!worker.awaitTermination(LAST_MOMENTS_SECONDS, TimeUnit.SECONDS)) {
        worker.shutdownNow();
      }
    } catch (InterruptedException e) {
      worker.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }

  /** A namespace of a pool of a cluster. */
  private record Place(String monitors, String pool, String namespace) {}
}
