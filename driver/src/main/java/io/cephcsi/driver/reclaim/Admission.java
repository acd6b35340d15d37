package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ObjectLock;
import io.cephcsi.driver.operation.Operation;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Bounds how many images of a cluster are reclaimed at once by all drivers and command lines
 * together: a reclaim holds one of a number of places on the cluster's {@link PlaceBoard}. The
 * cluster drops the lock of a driver that died. Safe for several threads.
 */
public final class Admission {
  private static final Logger LOG = LoggerFactory.getLogger(Admission.class);
  private static final Duration HOLDS = Duration.ofSeconds(30);
  private static final Duration POLL = Duration.ofMillis(500);

  /** Several, so that a cluster that hangs does not keep the places of another from renewal. */
  private static final ScheduledExecutorService RENEWALS =
      Executors.newScheduledThreadPool(4, Admission::thread);

  private final int places;
  private final Duration holds;

  /**
   * @param places how many at once; 0 for no bound
   */
  public Admission(int places) {
    this(places, HOLDS);
  }

  Admission(int places, Duration holds) {
    this.places = places;
    this.holds = holds;
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "reclaim-place");
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Waits for a place.
   *
   * @param image the pool and namespace of the image
   * @param what for people who list the locks
   * @return empty when the operation was cancelled meanwhile
   */
  Optional<Place> enter(IoContext image, String what, Operation operation) {
    if (operation.isCancelled()) {
      return Optional.empty();
    }
    Optional<PlaceBoard> board = places == 0 ? Optional.empty() : PlaceBoard.find(image);
    if (board.isEmpty()) {
      if (places > 0) {
        LOG.warn("every RBD pool is full: {} is reclaimed without a place", what);
      }
      return Optional.of(new Place());
    }
    Optional<Place> place = Optional.empty();
    try {
      place = enter(board.get(), what, operation);
      return place;
    } finally {
      if (place.isEmpty()) {
        board.get().close();
      }
    }
  }

  private Optional<Place> enter(PlaceBoard board, String what, Operation operation) {
    String cookie = UUID.randomUUID().toString();
    boolean waited = false;
    while (!operation.isCancelled()) {
      long asked = System.nanoTime();
      Optional<ObjectLock> lock = anyFree(board, cookie, what);
      if (lock.isPresent()) {
        return Optional.of(new Place(board, lock.get(), holds, asked));
      }
      if (!waited) {
        waited = true;
        operation.phase("waiting for one of " + places + " places among the cluster's reclaims");
      }
      LockSupport.parkNanos(POLL.toNanos());
    }
    return Optional.empty();
  }

  private Optional<ObjectLock> anyFree(PlaceBoard board, String cookie, String what) {
    int first = ThreadLocalRandom.current().nextInt(places);
    for (int i = 0; i < places; i++) {
      Optional<ObjectLock> lock = board.tryTake((first + i) % places, cookie, what, holds);
      if (lock.isPresent()) {
        return lock;
      }
    }
    return Optional.empty();
  }

  /** A place, held until it is closed or lost; without a bound, a place that is never lost. */
  static final class Place implements AutoCloseable {
    private final @Nullable PlaceBoard board;
    private final @Nullable ObjectLock lock;
    private final @Nullable ScheduledFuture<?> renewal;
    private final long holdsNanos;
    private volatile long renewedNanos;
    private volatile boolean lost;

    private Place() {
      board = null;
      lock = null;
      renewal = null;
      holdsNanos = 0;
    }

    /**
     * @param asked when the lock was asked for, at the latest, by {@link System#nanoTime()}
     */
    private Place(PlaceBoard board, ObjectLock lock, Duration holds, long asked) {
      this.board = board;
      this.lock = lock;
      this.holdsNanos = holds.toNanos();
      this.renewedNanos = asked;
      long third = holds.toMillis() / 3;
      this.renewal =
          RENEWALS.scheduleWithFixedDelay(() -> renew(lock), third, third, TimeUnit.MILLISECONDS);
    }

    private void renew(ObjectLock held) {
      long began = System.nanoTime();
      try {
        if (held.renew()) {
          renewedNanos = began;
        } else {
          lost = true;
        }
      } catch (CephException | IllegalStateException e) {
        LOG.warn("{} cannot be renewed: {}", held, e.getMessage());
      }
    }

    /** Whether somebody else may have the place by now; does not block. */
    boolean isLost() {
      return lost || (lock != null && System.nanoTime() - renewedNanos > holdsNanos);
    }

    @Override
    public void close() {
      if (renewal != null) {
        renewal.cancel(false);
      }
      try (PlaceBoard closed = board) {
        if (lock != null) {
          lock.release();
        }
      } catch (CephException e) {
        LOG.warn("{}; the place is free after {} s", e.getMessage(), holdsNanos / 1_000_000_000L);
      }
    }
  }
}
