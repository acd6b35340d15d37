package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.cls.HeaderLock;
import io.cephcsi.bindings.cls.HeaderMetadata;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.MirrorDaemons;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClientAddress;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.cluster.ClientFence;
import io.cephcsi.driver.cluster.SignedAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The managed lock of an image during a reclaim. The image's metadata has the signed address of the
 * owner from before it takes the lock until after it gave it back. A lock that a reclaim left when
 * it died may be broken, with its owner blocklisted; a lock of any other client may not. Others can
 * write locks and metadata, too: only an address that is signed with the key of the driver's user
 * counts. Used by one thread.
 */
final class ReclaimLock {
  /** In the image's metadata while it is reclaimed: the {@link SignedAddress} of who does. */
  static final String RECLAIMER = "csi.java.reclaimer";

  private static final Logger LOG = LoggerFactory.getLogger(ReclaimLock.class);
  private static final Duration SHUT_OUT = Duration.ofHours(1); // as librbd does
  private static final Duration PAUSE = Duration.ofSeconds(5);
  private static final int TOLD_EACH = 12; // attempts: a minute

  private final RbdImage image;
  private final RadosCluster another;
  private final ClientFence fence;
  private Optional<String> mark = Optional.empty();
  private String address = "";
  private boolean fenced;

  /**
   * @param image the image, open for writing over a connection that nothing else uses
   * @param another another connection to the cluster
   */
  ReclaimLock(RbdImage image, RadosCluster another) {
    this.image = image;
    this.another = another;
    this.fence = new ClientFence(another);
  }

  /**
   * The owner of the lock of an image that nobody uses, unless it was a reclaimer of this user or
   * mirrors the image: also of a lock that was taken on an image without the feature
   * exclusive-lock.
   *
   * @return the owner's address
   */
  static Optional<String> foreignOwner(RbdImage image) {
    List<String> owners = HeaderLock.holders(image.pool(), image.id());
    Optional<String> reclaimer =
        owners.isEmpty()
            ? Optional.empty()
            : reclaimer(image)
                .flatMap(
                    text -> SignedAddress.proven(image.pool().io(), header(image), RECLAIMER, text))
                .map(ClientAddress::bare);
    return owners.stream()
        .filter(owner -> !reclaimer.equals(Optional.of(ClientAddress.bare(owner))))
        .filter(owner -> !mirrors(image, owner))
        .findFirst();
  }

  /** Whether an owner only mirrors the image: it takes snapshots, and passes the lock on. */
  private static boolean mirrors(RbdImage image, String owner) {
    Set<Long> daemons = MirrorDaemons.of(image);
    return !daemons.isEmpty()
        && image.watchers().stream()
            .filter(watcher -> daemons.contains(watcher.clientId()))
            .anyMatch(
                watcher -> ClientAddress.bare(watcher.address()).equals(ClientAddress.bare(owner)));
  }

  /** What the metadata say of who reclaims an image, which anybody can have written. */
  static Optional<String> reclaimer(RbdImage image) {
    return image.metadata().get(RECLAIMER);
  }

  private static String header(RbdImage image) {
    return ImageHeader.object(image.id());
  }

  /** Whether the user can {@link #fence}, and break the lock of a reclaimer that died. */
  boolean canFence() {
    return fence.isAllowed() && ClientFence.isClient(image.pool().io().cluster().addresses());
  }

  /** Whether any client has the lock. */
  boolean isHeld() {
    return !HeaderLock.holders(image.pool(), image.id()).isEmpty();
  }

  /**
   * Takes the lock, once a reclaim that did not end is {@link FormerReclaim#shutOut shut out}.
   *
   * @throws CephException when another client keeps it
   */
  void acquire() {
    FormerReclaim.shutOut(image, another);
    IoContext io = image.pool().io();
    mark = SignedAddress.own(io, header(image), RECLAIMER);
    // Past librbd, which takes the lock for it: a lock without a mark nobody may break.
    mark.ifPresent(
        signed -> HeaderMetadata.change(io, image.id(), Map.of(RECLAIMER, signed), List.of()));
    try {
      image.lock().acquire();
    } catch (CephException.TimedOut e) {
      throw e; // it may have the lock, so the mark stays
    } catch (CephException e) {
      unmark();
      throw e;
    }
    address = io.cluster().addresses(); // what stands at the lock, others may have written
  }

  /**
   * Gives the lock back, if it still is ours to give.
   *
   * @return false if that failed: the mark may still name this client as one that reclaims
   */
  boolean release() {
    if (fenced) {
      return true;
    }
    try {
      image.lock().release();
      unmark();
      return true;
    } catch (CephException e) {
      LOG.warn("{}: the lock was lost: {}", image, e.getMessage());
      return false;
    }
  }

  private void unmark() {
    mark.ifPresent(
        signed -> HeaderMetadata.removeIf(image.pool().io(), image.id(), RECLAIMER, signed));
  }

  /**
   * Blocklists our own connection, for when it is unknown whether what it sent will still be
   * carried out: a late discard must not hit what another client has written. The lock stays. A
   * client that breaks it waits until all OSDs that it talks to know the blocklist. Blocks until
   * the cluster has agreed, however long that takes: neither the lock nor the connection may be
   * given up before.
   */
  void fence() {
    if (address.isEmpty()) {
      return; // not locked: nothing was sent that only the lock allows
    }
    boolean interrupted = false;
    for (int attempt = 0; !fenced; attempt++) {
      try {
        fence.blocklist(address, SHUT_OUT);
        image.pool().io().cluster().awaitLatestOsdMap(); // not even the lock is given back now
        fenced = true;
        LOG.warn("{}: blocklisted client {}, which may have sent discards", image, address);
      } catch (CephException e) {
        if (attempt % TOLD_EACH == 0) {
          LOG.error(
              "{}: keeps its lock until client {} is blocklisted, as discards that it sent may"
                  + " still be carried out: {}",
              image,
              address,
              e.getMessage());
        }
        LockSupport.parkNanos(PAUSE.toNanos());
        interrupted |= Thread.interrupted();
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
