package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.kms.Passphrase;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** An image to reclaim: of a volume, or named on the command line. */
public interface ReclaimTarget {
  /** For messages: the volume's id, or pool and image. */
  String name();

  /** Opens the image for reading; this leaves no watcher. */
  RbdImage openReadOnly();

  /**
   * The nodes that the volume is published to, as far as that is recorded; sorted. Asked for where
   * the image has no lock that would keep them from writing. May block on the cluster.
   *
   * @throws io.cephcsi.driver.volume.VolumeException FAILED_PRECONDITION if the record is damaged
   */
  List<String> nodes();

  /**
   * The passphrase of an encrypted volume, which the caller closes. May block on the KMS.
   *
   * @return empty for a volume that is not encrypted, and for an image that no journal knows
   * @throws io.cephcsi.driver.volume.VolumeException as of the KMS
   */
  default Optional<Passphrase> passphrase() {
    return Optional.empty();
  }

  /** The image in the trash, asked for when there is none outside. */
  Optional<TrashEntry> inTrash();

  /**
   * Opens the image for writing, over a connection of its own: a client that breaks its lock
   * blocklists all of the connection, and options hold for all of it. Discarding works in a pool
   * that is full, too ({@link io.cephcsi.bindings.rados.IoContext#tryWhenFull()}).
   *
   * @param options options for the connection
   */
  Writable open(Map<String, String> options);

  /** An image that is open for writing. */
  interface Writable extends AutoCloseable {
    /** The image, closed with this. */
    RbdImage image();

    /** The id of the connection: its watches are our own. */
    long clientId();

    @Override
    void close();
  }
}
