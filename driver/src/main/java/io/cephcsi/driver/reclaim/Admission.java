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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Bounds how many images of a pool are reclaimed at once by all drivers and command lines together:
 * a reclaim holds one of a number of locks on an object in the pool. The cluster drops the lock of
 * a driver that died. Safe for several threads.
 */
public final class Admission {
  /** The object that the locks are on, in the pool and namespace of the image. */
  static final String OBJECT = "ceph-csi-java.reclaims";

  private static final Logger LOG = LoggerFactory.getLogger(Admission.class);
  private static final Duration HOLDS = Duration.ofSeconds(30);
  private static final Duration POLL = Duration.ofMillis(500);
  private static final ScheduledExecutorService RENEWALS =
      Executors.newScheduledThreadPool(1, Admission::thread);

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
   * @param what for people who list the locks
   * @return empty when the operation was cancelled meanwhile
   */
  Optional<Place> enter(IoContext io, String what, Operation operation) {
    if (places == 0) {
      return Optional.of(new Place(Optional.empty(), holds));
    }
    String cookie = UUID.randomUUID().toString();
    boolean waited = false;
    while (!operation.isCancelled()) {
      Optional<ObjectLock> lock = anyFree(io, cookie, what);
      if (lock.isPresent()) {
        return Optional.of(new Place(lock, holds));
      }
      if (!waited) {
        waited = true;
        operation.phase("waiting for one of " + places + " places among the cluster's reclaims");
      }
      LockSupport.parkNanos(POLL.toNanos());
    }
    return Optional.empty();
  }

  private Optional<ObjectLock> anyFree(IoContext io, String cookie, String what) {
    int first = ThreadLocalRandom.current().nextInt(places);
    for (int i = 0; i < places; i++) {
      String name = "place-" + (first + i) % places;
      Optional<ObjectLock> lock = ObjectLock.tryAcquire(io, OBJECT, name, cookie, what, holds);
      if (lock.isPresent()) {
        return lock;
      }
    }
    return Optional.empty();
  }

  /** A place, held until it is closed or lost. */
  static final class Place implements AutoCloseable {
    private final Optional<ObjectLock> lock;
    private final Optional<ScheduledFuture<?>> renewal;
    private final long holdsNanos;
    private volatile long renewedNanos = System.nanoTime();
    private volatile boolean lost;

    private Place(Optional<ObjectLock> lock, Duration holds) {
      this.lock = lock;
      this.holdsNanos = holds.toNanos();
      long third = holds.toMillis() / 3;
      this.renewal =
          lock.map(
              l ->
                  RENEWALS.scheduleWithFixedDelay(
                      () -> renew(l), third, third, TimeUnit.MILLISECONDS));
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
      return lost || (lock.isPresent() && System.nanoTime() - renewedNanos > holdsNanos);
    }

    @Override
    public void close() {
      renewal.ifPresent(task -> task.cancel(false));
      try {
        lock.ifPresent(ObjectLock::release);
      } catch (CephException e) {
        LOG.warn("{}; the place is free after {} s", e.getMessage(), holdsNanos / 1_000_000_000L);
      }
    }
  }
}
