package io.cephcsi.driver.rbd.background;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterWorkers;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
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
 * <p>DeleteVolume and DeleteSnapshot return when the image is in the trash and the journal entry is
 * removed. A crash after that loses no image: at the first call on a pool after its start, and at
 * the first one in each hour, a driver looks for images in the trash that a driver moved there and
 * that no journal entry has. So an image goes, too, whose last clone was not deleted, but
 * flattened. Removals on a cluster are decided one after the other, so that of the last two clones
 * of an image the second one finds the first one gone.
 */
public final class TrashQueue implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TrashQueue.class);
  private static final int QUEUE = 10_000;
  private static final long LAST_MOMENTS_SECONDS = 5;
  private static final Duration FIRST_DELAY = Duration.ofSeconds(15);
  private static final Duration LAST_DELAY = Duration.ofHours(1);
  private static final Duration BETWEEN_VISITS = Duration.ofHours(1);

  private final ConnectionPool connections;
  private final TrashRemoval removal;
  private final Cache<String, Boolean> visited;
  private final Set<String> waiting = ConcurrentHashMap.newKeySet();
  private final ClusterWorkers workers = new ClusterWorkers("trash", 1, QUEUE);

  public TrashQueue(ConnectionPool connections, TrashRemoval removal) {
    this(connections, removal, BETWEEN_VISITS);
  }

  /**
   * @param between visits of a pool
   */
  public TrashQueue(ConnectionPool connections, TrashRemoval removal, Duration between) {
    this.connections = connections;
    this.removal = removal;
    this.visited = Caffeine.newBuilder().expireAfterWrite(between).build();
  }

  /** Looks, at the first call for a pool and now and then, what can go from its trash. */
  public void visit(ClusterConfig cluster, Credentials credentials, IoContext io) {
    visit(PoolUser.of(cluster, credentials, io));
  }

  private void visit(PoolUser where) {
    if (visited.asMap().putIfAbsent(where.key(), true) == null) { // not put: that would renew it
      submit(where, FIRST_DELAY, removal::sweep);
    }
  }

  /** Removes an image from the trash soon. */
  public void purge(ClusterConfig cluster, Credentials credentials, IoContext io, String imageId) {
    PoolUser where = PoolUser.of(cluster, credentials, io);
    visit(where);
    submit(where, FIRST_DELAY, (pool, later) -> removal.removeIfPossible(pool, imageId, later));
  }

  /** As {@link #purge}, of an image that perhaps no driver put there, and then stays. */
  public void purgeIfDeleted(
      ClusterConfig cluster, Credentials credentials, IoContext io, String imageId) {
    PoolUser where = PoolUser.of(cluster, credentials, io);
    visit(where);
    submit(where, FIRST_DELAY, (pool, later) -> removal.removeIfDeleted(pool, imageId, later));
  }

  /** Looks again after a delay, and then ever more rarely; the next start goes on. */
  private void retryLater(PoolUser where, Duration delay, String imageId) {
    String image = where.key() + "/" + imageId;
    if (delay.compareTo(LAST_DELAY) > 0 || !waiting.add(image)) {
      return;
    }
    CompletableFuture.delayedExecutor(delay.toMillis(), TimeUnit.MILLISECONDS, Runnable::run)
        .execute(
            () -> {
              waiting.remove(image);
              submit(
                  where,
                  delay.multipliedBy(2),
                  (pool, later) -> removal.removeOrRetry(pool, imageId, later));
            });
  }

  /**
   * Has work done on a pool.
   *
   * @param delay after which an image that stays is looked at again
   */
  private void submit(
      PoolUser where, Duration delay, BiConsumer<IoContext, TrashRemoval.Later> work) {
    TrashRemoval.Later later =
        (io, imageId) ->
            retryLater(PoolUser.of(where.cluster, where.credentials, io), delay, imageId);
    try {
      workers
          .of(where.fsid)
          .execute(
              () -> {
                try {
                  connections.with(
                      where.cluster,
                      where.credentials,
                      lease -> work.accept(lease.rbdPool(where.pool), later));
                } catch (RuntimeException e) {
                  LOG.warn(
                      "the trash of {} could not be emptied; the next call on this pool tries"
                          + " again: {}",
                      where.pool,
                      e.toString());
                  visited.invalidate(where.key()); // the next call looks again
                }
              });
    } catch (RejectedExecutionException e) {
      LOG.warn(
          "the queue for the trash of {} is full; the next call on this pool tries again",
          where.pool);
      visited.invalidate(where.key());
    }
  }

  /** Ends what was begun if that does not take long; the rest waits for the next start. */
  @Override
  public void close() {
    workers.close(LAST_MOMENTS_SECONDS, TimeUnit.SECONDS);
  }

  /** A namespace of a pool of a cluster, and who works there, without what else a call has. */
  record PoolUser(
      ClusterConfig cluster, Credentials credentials, String fsid, String pool, String namespace) {
    static PoolUser of(ClusterConfig cluster, Credentials credentials, IoContext io) {
      return new PoolUser(
          cluster, credentials.alone(), io.cluster().fsid(), io.pool(), io.namespace());
    }

    String key() {
      return fsid + "/" + pool + "/" + namespace;
    }
  }
}
