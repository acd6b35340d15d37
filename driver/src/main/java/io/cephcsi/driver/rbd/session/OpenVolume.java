package io.cephcsi.driver.rbd.session;

import static java.time.temporal.ChronoUnit.SECONDS;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.CutOffFlatten;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.TrashDirectory;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.encryption.EncryptionType;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.rbd.image.EndedFlatten;
import io.cephcsi.driver.rbd.image.FoundImage;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * A volume that the journal knows, as one call works on it.
 *
 * @param session of the call
 * @param id its identifier
 * @param pool the pool of its image
 * @param entry what the journal says
 */
public record OpenVolume(RbdSession session, VolumeId id, RbdPool pool, JournalEntry entry) {
  /** The connection, which ends with the session. */
  public Lease lease() {
    return session.lease();
  }

  /** The pool where its name is reserved. */
  public IoContext journalPool() {
    return session.journalPool(entry.journalPoolId(), pool.io());
  }

  /** Which nodes have it, in the journal. */
  public AttachmentJournal attachments() {
    return new AttachmentJournal(session.settings().instanceId(), pool.io());
  }

  /** Its image. */
  public OpenImage image() {
    Optional<String> recorded =
        entry.imageId().filter(image -> !AttachmentJournal.isBeingDeleted(entry));
    return new OpenImage(id.toString(), lease(), pool, entry.name(), recorded);
  }

  /** The name of its image. */
  public String imageName() {
    return entry.name();
  }

  /**
   * The id of a volume's image, which may have replaced the one that was recorded; a round trip, or
   * three.
   */
  public String imageId() {
    return FoundImage.of(pool, entry)
        .map(FoundImage::id)
        .orElseThrow(() -> VolumeException.notFound("volume " + id + " has no image"));
  }

  /**
   * Opens the image for reading; this does not make it look in use.
   *
   * @throws VolumeException NOT_FOUND if there is no image
   */
  public RbdImage openReadOnly() {
    return opened(() -> image().openReadOnly());
  }

  /**
   * Opens the image for writing.
   *
   * @throws VolumeException NOT_FOUND if there is no image
   */
  public RbdImage open() {
    return opened(() -> image().open());
  }

  private RbdImage opened(Supplier<RbdImage> opening) {
    try {
      return opening.get();
    } catch (VolumeException e) {
      if (e.reason() == Reason.FAILED_PRECONDITION && endCutOffFlatten()) {
        return opening.get();
      }
      throw e;
    }
  }

  /**
   * Ends a flattening of its image, or of one that it is a clone of, that was cut off, see {@link
   * CutOffFlatten}: the image could not be opened. Three round trips for each ancestor.
   *
   * @return whether there was one
   */
  public boolean endCutOffFlatten() {
    return entry.isMade()
        && FoundImage.of(pool, entry)
            .filter(image -> EndedFlatten.of(pool.io(), image.id(), "volume " + id))
            .isPresent();
  }

  /**
   * Refuses clones of its image that would be beyond the hard limit, as {@link
   * FlattenPolicy#requireDepth}. The parent that a flattening left, which was cut off before its
   * last step, does not count. A round trip for each ancestor.
   *
   * @param imageId its image
   * @param header of it
   * @return how deep a clone will be
   */
  public int requireDepth(String imageId, ImageHeader header) {
    IoContext io = pool.io();
    FlattenPolicy bounds = session.bounds();
    int depth = AncestryCheck.require(io, imageId, header) + 1;
    if (bounds.isTooDeep(depth) && endCutOffFlatten()) {
      ImageHeader ended = ImageHeader.read(io, imageId).orElse(header);
      depth = AncestryCheck.require(io, imageId, ended) + 1;
    }
    bounds.requireDepth(io, imageName(), imageId, depth);
    return depth;
  }

  /** The ids of the nodes that it is published to by the journal, sorted; does not block. */
  public List<String> nodes() {
    return AttachmentJournal.nodes(entry);
  }

  /**
   * The passphrase of its blocks, which the caller closes; empty when those are not encrypted.
   *
   * @throws VolumeException as of the KMS
   */
  public Optional<Passphrase> passphrase() {
    return entry.isEncrypted() && EncryptionType.BLOCK.isOf(entry)
        ? Optional.of(session.imageKey(id, pool, imageId(), entry).fetch())
        : Optional.empty();
  }

  /**
   * Whether another site may need its passphrase, as the journal says now, and not when the call
   * began: a controller writes the note, and ends the mirroring then. So it is to be asked for when
   * there is no mirroring any more. One round trip.
   */
  public boolean isKeyShared() {
    return journal().byUuid(entry.uuid()).filter(JournalEntry::isKeyShared).isPresent();
  }

  /** Has the journal say that another site may need its passphrase; one round trip. */
  public void noteKeyShared() {
    String now = Instant.now().truncatedTo(SECONDS).toString();
    journal().set(id.uuid(), Map.of(JournalEntry.KEY_SHARED, now));
  }

  private Journal journal() {
    return session.journal(JournalKind.VOLUME, journalPool(), pool.io());
  }

  /** Its image in the trash; empty when it is not there. */
  public Optional<TrashEntry> inTrash() {
    Optional<String> id = entry.imageId();
    return id.isPresent()
        ? pool.trashEntry(id.get())
        : TrashDirectory.named(pool.io(), entry.name());
  }

  /**
   * Looks whether there is an image; one round trip.
   *
   * @throws VolumeException NOT_FOUND if there is none
   */
  public void requireImage() {
    image().require();
  }
}
