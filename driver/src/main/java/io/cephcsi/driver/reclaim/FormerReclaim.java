package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.cls.HeaderLock;
import io.cephcsi.bindings.cls.HeaderMetadata;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.cluster.ClientFence;
import io.cephcsi.driver.cluster.SignedAddress;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A reclaim of an image that did not end, as its mark is still in the metadata. Its driver may be
 * dead, or stand still with its machine: then it sends discards that had no answer again when it
 * goes on. Whoever breaks its lock blocklists it for an hour only. Safe for several threads.
 */
public final class FormerReclaim {
  private static final Logger LOG = LoggerFactory.getLogger(FormerReclaim.class);

  private FormerReclaim() {}

  /**
   * Shuts the client of a former reclaim out for long, and takes its lock and its mark away:
   * whoever else breaks the lock shuts it out for an hour, and the cluster does not lengthen an
   * entry that is there. A round trip, if there was none. Does nothing to a mark that no client of
   * this user wrote, nor if the user may not blocklist.
   *
   * @param image open, with no other client that has it open
   * @param another a connection that blocklists
   */
  public static void shutOut(RbdImage image, RadosCluster another) {
    IoContext io = image.pool().io();
    Optional<String> mark = ReclaimLock.reclaimer(image);
    Optional<String> address =
        mark.flatMap(
                text ->
                    SignedAddress.proven(
                        io, ImageHeader.object(image.id()), ReclaimLock.RECLAIMER, text))
            .filter(client -> !client.equals(io.cluster().addresses()))
            .filter(client -> !client.equals(another.addresses()))
            .filter(client -> !ClientFence.isShutOut(client)); // it has ended
    if (address.isEmpty()) {
      return;
    }
    LOG.warn("the reclaim of {} by {} did not end: blocklisting it", image, address.get());
    try {
      new ClientFence(another).blocklist(address.get(), ClientFence.LONGER_THAN_STOPPED);
    } catch (CephException.Denied e) {
      LOG.warn(
          "{}: the user may not blocklist {}, whose discards may be on their way: {}",
          image,
          address.get(),
          e.getMessage());
      return;
    }
    io.cluster().awaitLatestOsdMap(); // OSDs that it talks to from now on know it, too
    HeaderLock.breakDead(image.pool(), image.id(), ClientFence::isShutOut);
    // Without the image's lock, which librbd would take for it. Others need not do this again.
    HeaderMetadata.removeIf(io, image.id(), ReclaimLock.RECLAIMER, mark.orElseThrow());
  }
}
