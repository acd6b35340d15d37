package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.cluster.ClientFence;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The managed lock of an image that is reclaimed. While it is held, the image's metadata says by
 * whom: a lock that a reclaimer left when it died may be broken, one of anybody else may not. Used
 * by one thread.
 */
final class ReclaimLock {
  /** In the image's metadata while it is reclaimed: the address of the client that does. */
  static final String RECLAIMER = "csi.java.reclaimer";

  private static final Logger LOG = LoggerFactory.getLogger(ReclaimLock.class);
  private static final Duration SHUT_OUT = Duration.ofHours(1); // as librbd does
  private static final Duration PAUSE = Duration.ofSeconds(5);
  private static final Duration LONGEST = Duration.ofMinutes(5);

  private final RbdImage image;
  private final ClientFence fence;
  private String address = "";
  private boolean fenced;

  /**
   * @param image the image, open for writing over a connection that nothing else uses
   * @param another another connection to the cluster
   */
  ReclaimLock(RbdImage image, RadosCluster another) {
    this.image = image;
    this.fence = new ClientFence(another);
  }

  /**
   * Who holds the lock of an image that nobody watches, unless that was a reclaimer: be it one that
   * was taken by hand on an image without the feature.
   *
   * @return the owner's address
   */
  static Optional<String> stranger(RbdImage image) {
    Optional<String> owner = image.lock().holders().stream().findFirst();
    return owner.isEmpty() || owner.equals(image.metadata().get(RECLAIMER))
        ? Optional.empty()
        : owner;
  }

  /** Whether the user can {@link #fence}, and break the lock of a reclaimer that died. */
  boolean canFence() {
    return fence.isAllowed();
  }

  /** Whether somebody has the lock. */
  boolean isHeld() {
    return !image.lock().holders().isEmpty();
  }

  /**
   * Takes the lock.
   *
   * @throws CephException when somebody else keeps it
   */
  void acquire() {
    image.lock().acquire();
    address = image.lock().holders().stream().findFirst().orElse("");
    if (!address.isEmpty()) {
      image.metadata().set(RECLAIMER, address);
    }
  }

  /** Gives the lock back, if it still is ours to give. */
  void release() {
    if (fenced) {
      return;
    }
    try {
      if (image.metadata().get(RECLAIMER).isPresent()) {
        image.metadata().remove(RECLAIMER);
      }
      image.lock().release();
    } catch (CephException e) {
      LOG.warn("{}: the lock was lost: {}", image, e.getMessage());
    }
  }

  /**
   * Shuts our own connection out, for when nobody knows whether what it sent will still be carried
   * out: a discard that comes late must not hit what a newcomer has written. The lock stays, and
   * whoever takes it away waits until all OSDs that he talks to know that we are shut out. Blocks
   * until the cluster has agreed, at most for some minutes; when it cannot be had, the log says so.
   *
   * @param stop looked at after each attempt
   */
  void fence(BooleanSupplier stop) {
    if (address.isEmpty()) {
      return; // not locked: nothing was sent that only the lock allows
    }
    long end = System.nanoTime() + LONGEST.toNanos();
    while (!fenced) {
      try {
        fence.shutOut(address, SHUT_OUT);
        image.pool().io().cluster().awaitLatestOsdMap(); // not even the lock is given back now
        fenced = true;
        LOG.warn("{}: shut out {}: it may have discards on the way", image, address);
      } catch (CephException | IllegalArgumentException e) {
        LOG.warn("{}: {} cannot be shut out: {}", image, address, e.getMessage());
        boolean hopeless = !(e instanceof CephException) || e instanceof CephException.Denied;
        if (hopeless || stop.getAsBoolean() || System.nanoTime() - end > 0) {
          LOG.error(
              "{}: {} was not shut out; what it sent before may still be carried out",
              image,
              address);
          return;
        }
        pause(stop);
      }
    }
  }

  private static void pause(BooleanSupplier stop) {
    long end = System.nanoTime() + PAUSE.toNanos();
    while (System.nanoTime() < end && !stop.getAsBoolean()) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
    }
  }
}
