package io.cephcsi.driver.rbd.snapshot;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.TrashMove;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.DeletionMark;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.image.ImageUse;
import io.cephcsi.driver.rbd.image.RecordedImage;
import io.cephcsi.driver.rbd.session.OpenSnapshot;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The deletion of one snapshot, whose name and id are locked.
 *
 * @param snapshot the snapshot
 */
public record SnapshotDeletion(OpenSnapshot snapshot) {
  private static final Logger LOG = LoggerFactory.getLogger(SnapshotDeletion.class);

  /** Removes the snapshot, or moves its image to the trash, then removes the journal entry. */
  void run() {
    RbdSession session = snapshot.session();
    IoContext io = snapshot.pool().io();
    JournalEntry entry = snapshot.entry();
    Journal journal =
        session.journal(JournalKind.SNAPSHOT, session.journalPool(entry.journalPoolId(), io), io);
    if (snapshot.staysOnImage()) {
      Optional<String> ofVolume = removeNative();
      journal.remove(entry);
      ofVolume.ifPresent(image -> session.purgeIfDeleted(io, image));
    } else {
      session.keys().requireKnownKms(entry);
      Optional<String> image = moveToTrash(() -> mark(journal, entry));
      removeKey(image);
      journal.remove(entry);
      image.ifPresent(id -> session.purge(io, id));
    }
  }

  /**
   * Has the KMS remove the passphrase. When that fails, only the entry waits for it.
   *
   * @param image that lies in the trash
   * @throws VolumeException as of the KMS
   */
  public void removeKey(Optional<String> image) {
    RbdSession session = snapshot.session();
    try {
      session.keys().remove(snapshot.id(), snapshot.entry());
    } catch (VolumeException e) {
      image.ifPresent(id -> session.purge(snapshot.pool().io(), id));
      throw e;
    }
  }

  /**
   * The snapshot is removed before the call ends: nothing else would remember it.
   *
   * @return the id of the volume's image, if that is in the trash
   */
  private Optional<String> removeNative() {
    RbdPool pool = snapshot.pool();
    JournalEntry entry = snapshot.entry();
    try {
      JournalEntry now = NativeSnapshots.remove(pool, entry);
      if (now.outOfTrash()) {
        NativeSnapshots.backToTrash(pool, now);
      }
      return now.nativeImage().filter(image -> pool.trashEntry(image).isPresent());
    } catch (CephException.Busy e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "snapshot "
              + snapshot.id()
              + " is protected or its volume is busy ("
              + e.getMessage()
              + ")",
          e);
    }
  }

  /**
   * The image goes to the trash with its snapshot, which is removed there in the background: if no
   * clone needs it, its removal waits for the monitors' next map.
   *
   * @return the id of the image, if there is one; the caller removes the journal entry and then has
   *     it purged
   */
  public Optional<String> moveToTrash() {
    return moveToTrash(Optional::empty);
  }

  /** Of what no call gives to anybody before the image is in the trash: none if it has a mark. */
  private static Optional<DeletionMark> mark(Journal journal, JournalEntry entry) {
    return AttachmentJournal.isBeingDeleted(entry)
        ? Optional.empty()
        : Optional.of(DeletionMark.set(journal, entry));
  }

  /**
   * @param begin marks what is to be moved; the mark is taken back if it cannot be
   */
  private Optional<String> moveToTrash(Supplier<Optional<DeletionMark>> begin) {
    RbdPool pool = snapshot.pool();
    JournalEntry entry = snapshot.entry();
    Optional<String> imageId =
        ImageId.find(pool, entry.name()).or(() -> RecordedImage.nameless(pool, entry));
    if (imageId.isEmpty()) {
      return entry.imageId().filter(image -> pool.trashEntry(image).isPresent());
    }
    Optional<DeletionMark> mark = Optional.empty();
    try {
      ImageUse.requireUnused(pool, imageId.get(), "the image of snapshot " + snapshot.id());
      mark = begin.get();
      TrashMove.move(pool, entry.name(), imageId.get());
    } catch (CephException.Busy e) {
      mark.ifPresent(DeletionMark::takeBack);
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "snapshot " + snapshot.id() + ": its image is in use (" + e.getMessage() + ")",
          e);
    } catch (CephException.NotFound e) {
      LOG.debug("image {} was never complete", entry.name());
      CloneSteps.discard(pool, entry.name());
    }
    return imageId;
  }
}
