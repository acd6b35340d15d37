package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.error.CephException;
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
 * Limits how many images of a cluster are reclaimed at once, over all drivers and command lines: a
 * reclaim holds one of the {@link ReclaimSlots} of the cluster. The cluster drops the slot of a
 * driver that died. Safe for several threads.
 */
public final class Admission {
  private static final Logger LOG = LoggerFactory.getLogger(Admission.class);
  private static final Duration HOLDS = Duration.ofSeconds(30);
  private static final Duration POLL = Duration.ofMillis(500);

  private final int slots;
  private final Duration holds;

  /**
   * @param slots how many at once; 0 for no bound
   */
  public Admission(int slots) {
    this(slots, HOLDS);
  }

  Admission(int slots, Duration holds) {
    this.slots = slots;
    this.holds = holds;
  }

  /**
   * Waits for a slot.
   *
   * @param run knows where the slots are; stays open until the slot is closed
   * @param image the pool and namespace of the image
   * @param what for people who list the locks
   * @return empty when the operation was cancelled meanwhile
   */
  Optional<Slot> enter(ReclaimRun run, IoContext image, String what, Operation operation) {
    if (operation.isCancelled()) {
      return Optional.empty();
    }
    Optional<ReclaimSlots> locks = slots == 0 ? Optional.empty() : run.slots(image);
    if (locks.isEmpty()) {
      if (slots > 0) {
        LOG.warn(
            "every RBD pool is full: {} is reclaimed without a slot, so the number of"
                + " concurrent reclaims is not limited",
            what);
      }
      return Optional.of(new Slot(null));
    }
    try {
      return enter(locks.get(), what, operation);
    } catch (CephException e) {
      run.forget(locks.get());
      throw e;
    }
  }

  private Optional<Slot> enter(ReclaimSlots locks, String what, Operation operation) {
    String cookie = UUID.randomUUID().toString();
    boolean waited = false;
    while (!operation.isCancelled()) {
      Optional<RenewedLock> lock = RenewedLock.take(holds, () -> anyFree(locks, cookie, what));
      if (lock.isPresent()) {
        return Optional.of(new Slot(lock.get()));
      }
      if (!waited) {
        waited = true;
        operation.phase("waiting for one of " + slots + " slots among the reclaims of the cluster");
      }
      if (!locks.freeDead(slots)) {
        LockSupport.parkNanos(POLL.toNanos());
      }
    }
    return Optional.empty();
  }

  private Optional<ObjectLock> anyFree(ReclaimSlots locks, String cookie, String what) {
    int first = ThreadLocalRandom.current().nextInt(slots);
    for (int i = 0; i < slots; i++) {
      Optional<ObjectLock> lock = locks.tryTake((first + i) % slots, cookie, what, holds);
      if (lock.isPresent()) {
        return lock;
      }
    }
    return Optional.empty();
  }

  /** A slot, held until it is closed or lost; without a bound, a slot that is never lost. */
  static final class Slot implements AutoCloseable {
    private final @Nullable RenewedLock lock;

    private Slot(@Nullable RenewedLock lock) {
      this.lock = lock;
    }

    /** Whether another client may have the slot by now; does not block. */
    boolean isLost() {
      return lock != null && lock.isLost();
    }

    @Override
    public void close() {
      if (lock != null) {
        lock.close();
      }
    }
  }
}
