package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
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
  /** Its image. */
  public OpenImage image() {
    return new OpenImage(id.toString(), lease, pool, entry.name());
  }

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
    return image().openReadOnly();
  }

  /**
   * Opens the image for writing.
   *
   * @throws VolumeException NOT_FOUND if there is no image
   */
  public RbdImage open() {
    return image().open();
  }

  /** The ids of the nodes that it is published to by the journal, sorted; does not block. */
  public List<String> nodes() {
    return AttachmentJournal.nodes(entry);
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
    image().require();
  }

  @Override
  public void close() {
    lease.close();
  }
}
