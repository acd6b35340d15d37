package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;

/**
 * A volume that the journal knows, with the connection to work on it. Close it when done.
 *
 * @param id its identifier
 * @param lease the connection
 * @param pool the pool of its image
 * @param entry what the journal says
 */
public record OpenVolume(VolumeId id, Lease lease, RbdPool pool, JournalEntry entry)
    implements AutoCloseable {
  /** The name of its image. */
  public String imageName() {
    return entry.name();
  }

  /**
   * Opens the image for reading; this does not make it look in use.
   *
   * @throws VolumeException NOT_FOUND if there is no image
   */
  public RbdImage openReadOnly() {
    try {
      return pool.openReadOnly(entry.name());
    } catch (CephException.NotFound e) {
      throw missing(e);
    }
  }

  /**
   * Opens the image for writing.
   *
   * @throws VolumeException NOT_FOUND if there is no image
   */
  public RbdImage open() {
    try {
      return pool.open(entry.name());
    } catch (CephException.NotFound e) {
      throw missing(e);
    }
  }

  /** Its image in the trash; empty when it is not there. */
  public Optional<TrashEntry> inTrash() {
    Optional<String> id = entry.imageId();
    return id.isPresent() ? pool.trashEntry(id.get()) : pool.inTrash(entry.name());
  }

  /**
   * Looks whether there is an image; one round trip.
   *
   * @throws VolumeException NOT_FOUND if there is none
   */
  public void requireImage() {
    if (pool.imageId(entry.name()).isEmpty()) {
      throw VolumeException.notFound(
          "volume " + id + ": its image " + pool.io().pool() + "/" + entry.name() + " is gone");
    }
  }

  private VolumeException missing(CephException e) {
    return new VolumeException(
        VolumeException.Reason.NOT_FOUND,
        "volume " + id + ": its image " + pool.io().pool() + "/" + entry.name() + " is gone",
        e);
  }

  @Override
  public void close() {
    lease.close();
  }
}
