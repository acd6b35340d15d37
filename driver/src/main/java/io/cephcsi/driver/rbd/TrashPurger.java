package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterWorkers;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Empties the trash of deleted images in the background.
 *
 * <p>The deleting call ends when its image is in the trash and the journal has forgotten it: no
 * more is lost by a crash than time, as every image that a driver put into the trash, and that no
 * journal entry claims, is found again when a driver first works with the pool after its start.
 * Removals on a cluster are decided one after the other, so that of the last two clones of an image
 * one sees that the other goes.
 */
final class TrashPurger implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TrashPurger.class);
  private static final int QUEUE = 10_000;
  private static final long LAST_MOMENTS_SECONDS = 5;
  private static final Duration FIRST_DELAY = Duration.ofSeconds(15);
  private static final Duration LAST_DELAY = Duration.ofHours(1);

  private final ConnectionPool connections;
  private final TrashReaper reaper;
  private final Set<String> visited = ConcurrentHashMap.newKeySet();
  private final Set<String> waiting = ConcurrentHashMap.newKeySet();
  private final ClusterWorkers workers = new ClusterWorkers("trash", 1, QUEUE);

  TrashPurger(ConnectionPool connections, TrashReaper reaper) {
    this.connections = connections;
    this.reaper = reaper;
  }

  /** Looks, at the first call for a pool, what a driver that died left in its trash. */
  void visit(ClusterConfig cluster, Credentials credentials, IoContext io) {
    visit(Place.of(cluster, credentials, io));
  }

  private void visit(Place place) {
    if (visited.add(place.key())) {
      submit(place, FIRST_DELAY, reaper::sweep);
    }
  }

  /** Removes an image from the trash soon. */
  void purge(ClusterConfig cluster, Credentials credentials, IoContext io, String imageId) {
    Place place = Place.of(cluster, credentials, io);
    visit(place);
    submit(place, FIRST_DELAY, (pool, later) -> reaper.reap(pool, imageId, later));
  }

  /** As {@link #purge}, of an image that perhaps was put there by hand, and then stays. */
  void purgeIfDeleted(
      ClusterConfig cluster, Credentials credentials, IoContext io, String imageId) {
    Place place = Place.of(cluster, credentials, io);
    visit(place);
    submit(place, FIRST_DELAY, (pool, later) -> reaper.reapIfDeleted(pool, imageId, later));
  }

  /** Looks again after a delay, and then ever more rarely; the next start goes on. */
  private void lookLater(Place place, Duration delay, String imageId) {
    String image = place.key() + "/" + imageId;
    if (delay.compareTo(LAST_DELAY) > 0 || !waiting.add(image)) {
      return;
    }
    CompletableFuture.delayedExecutor(delay.toMillis(), TimeUnit.MILLISECONDS, Runnable::run)
        .execute(
            () -> {
              waiting.remove(image);
              submit(
                  place,
                  delay.multipliedBy(2),
                  (pool, later) -> reaper.reapOrWait(pool, imageId, later));
            });
  }

  /**
   * Has work done on a pool.
   *
   * @param delay after which an image that stays is looked at again
   */
  private void submit(Place place, Duration delay, BiConsumer<IoContext, TrashReaper.Later> work) {
    TrashReaper.Later later =
        (io, imageId) -> lookLater(Place.of(place.cluster, place.credentials, io), delay, imageId);
    try {
      workers
          .of(place.fsid)
          .execute(
              () -> {
                try (Lease lease = connections.lease(place.cluster, place.credentials)) {
                  work.accept(lease.rbdPool(place.pool), later);
                } catch (RuntimeException e) {
                  LOG.warn("the trash of {} is emptied later: {}", place.pool, e.toString());
                  visited.remove(place.key()); // the next call looks again
                }
              });
    } catch (RejectedExecutionException e) {
      LOG.warn("too much in the trash of {} at once; the rest is removed later", place.pool);
      visited.remove(place.key());
    }
  }

  /** Ends what was begun if that does not take long; the rest waits for the next start. */
  @Override
  public void close() {
    workers.close(LAST_MOMENTS_SECONDS, TimeUnit.SECONDS);
  }

  /** A namespace of a pool of a cluster, and who works there. */
  private record Place(
      ClusterConfig cluster, Credentials credentials, String fsid, String pool, String namespace) {
    static Place of(ClusterConfig cluster, Credentials credentials, IoContext io) {
      return new Place(cluster, credentials, io.cluster().fsid(), io.pool(), io.namespace());
    }

    String key() {
      return fsid + "/" + pool + "/" + namespace;
    }
  }
}
