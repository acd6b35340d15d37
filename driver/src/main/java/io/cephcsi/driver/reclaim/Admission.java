package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ObjectLock;
import io.cephcsi.driver.cluster.RenewedLock;
import io.cephcsi.driver.operation.Operation;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Bounds how many images of a cluster are reclaimed at once by all drivers and command lines
 * together: a reclaim holds one of a number of places on the cluster's {@link ReclaimSlots}. The
 * cluster drops the lock of a driver that died. Safe for several threads.
 */
public final class Admission {
  private static final Logger LOG = LoggerFactory.getLogger(Admission.class);
  private static final Duration HOLDS = Duration.ofSeconds(30);
  private static final Duration POLL = Duration.ofMillis(500);

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
    Optional<ReclaimSlots> board = places == 0 ? Optional.empty() : ReclaimSlots.find(image);
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

  private Optional<Place> enter(ReclaimSlots board, String what, Operation operation) {
    String cookie = UUID.randomUUID().toString();
    boolean waited = false;
    while (!operation.isCancelled()) {
      Optional<RenewedLock> lock = RenewedLock.take(holds, () -> anyFree(board, cookie, what));
      if (lock.isPresent()) {
        return Optional.of(new Place(board, lock.get()));
      }
      if (!waited) {
        waited = true;
        operation.phase("waiting for one of " + places + " places among the cluster's reclaims");
      }
      LockSupport.parkNanos(POLL.toNanos());
    }
    return Optional.empty();
  }

  private Optional<ObjectLock> anyFree(ReclaimSlots board, String cookie, String what) {
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
    private final @Nullable ReclaimSlots board;
    private final @Nullable RenewedLock lock;

    private Place() {
      board = null;
      lock = null;
    }

    private Place(ReclaimSlots board, RenewedLock lock) {
      this.board = board;
      this.lock = lock;
    }

    /** Whether somebody else may have the place by now; does not block. */
    boolean isLost() {
      return lock != null && lock.isLost();
    }

    @Override
    public void close() {
      try (ReclaimSlots closed = board) {
        if (lock != null) {
          lock.close();
        }
      }
    }
  }
}
