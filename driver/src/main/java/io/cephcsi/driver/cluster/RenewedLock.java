package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ObjectLock;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lock on an object, renewed in the background until it is closed or lost: the cluster drops that
 * of a process that died. Safe for several threads.
 */
public final class RenewedLock implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RenewedLock.class);

  private static final Renewals RENEWALS = new Renewals();

  private final ObjectLock lock;
  private final Renewals.Renewal renewal;
  private final long holdsNanos;
  private volatile long renewedNanos;
  private volatile boolean lost;

  private RenewedLock(ObjectLock lock, Duration holds, long asked) {
    this.lock = lock;
    this.holdsNanos = holds.toNanos();
    this.renewedNanos = asked;
    this.renewal = RENEWALS.every(holds.dividedBy(3), lock.fsid(), this::renew);
  }

  /**
   * Takes a lock and renews it from then on.
   *
   * @param attempt takes it, unless another client has it; what it is on stays open until it is
   *     closed
   * @param holds how long it was taken for
   * @return empty when another client has it
   */
  public static Optional<RenewedLock> take(Duration holds, Supplier<Optional<ObjectLock>> attempt) {
    long asked = System.nanoTime(); // it holds from then on at the earliest
    return attempt.get().map(lock -> new RenewedLock(lock, holds, asked));
  }

  private void renew() {
    long began = System.nanoTime();
    try {
      if (lock.renew()) {
        renewedNanos = began;
      } else {
        lost = true;
      }
    } catch (CephException | IllegalStateException e) {
      LOG.warn("{} cannot be renewed: {}", lock, e.getMessage());
    }
  }

  /** Whether another client may have it by now; does not block. */
  public boolean isLost() {
    return lost || System.nanoTime() - renewedNanos > holdsNanos;
  }

  /** Keeps it from being renewed, in place of {@link #close}: the cluster drops it later. */
  void abandon() {
    renewal.close();
  }

  /** Gives it back; a failure is logged, and the cluster drops the lock later. */
  @Override
  public void close() {
    renewal.close();
    try {
      lock.release();
    } catch (CephException e) {
      LOG.warn(
          "{}; the cluster drops the lock after {} s",
          e.getMessage(),
          TimeUnit.NANOSECONDS.toSeconds(holdsNanos));
    }
  }
}
