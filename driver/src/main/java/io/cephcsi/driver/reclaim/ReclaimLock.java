package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.RbdImage;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
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

  private final RbdImage image;
  private final RadosCluster another;
  private String address = "";
  private boolean fenced;

  /**
   * @param image the image, open for writing over a connection that nothing else uses
   * @param another another connection to the cluster
   */
  ReclaimLock(RbdImage image, RadosCluster another) {
    this.image = image;
    this.another = another;
  }

  /**
   * Who holds the lock of an image that nobody watches, unless that was a reclaimer.
   *
   * @return the owner's address
   */
  static Optional<String> stranger(RbdImage image) {
    if (!image.features().contains(ImageFeature.EXCLUSIVE_LOCK)) {
      return Optional.empty();
    }
    Optional<String> owner = image.lock().holders().stream().findFirst();
    return owner.isEmpty() || owner.equals(image.metadata().get(RECLAIMER))
        ? Optional.empty()
        : owner;
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
   * until the cluster has agreed.
   */
  void fence() {
    if (address.isEmpty()) {
      return; // not locked: nothing was sent that only the lock allows
    }
    while (!fenced) {
      try {
        another.blocklist(address, SHUT_OUT);
        image.pool().io().cluster().awaitLatestOsdMap(); // not even the lock is given back now
        fenced = true;
        LOG.warn("{}: shut out {}: it may have discards on the way", image, address);
      } catch (CephException e) {
        LOG.warn("{}: {} cannot be shut out yet: {}", image, address, e.getMessage());
        LockSupport.parkNanos(PAUSE.toNanos());
      }
    }
  }
}
