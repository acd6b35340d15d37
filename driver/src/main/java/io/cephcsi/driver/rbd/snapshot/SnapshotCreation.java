package io.cephcsi.driver.rbd.snapshot;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.PoolMismatchException;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.rbd.session.AttemptImages;
import io.cephcsi.driver.rbd.session.OpenSnapshot;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.volume.CreatedSnapshot;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * One CreateSnapshot, whose name the caller has locked: finds the pool, reserves the name in the
 * journal, and takes the snapshot with {@link SnapshotMaker}, or finds it.
 *
 * @param source the volume
 * @param requestName the name that the CO chose
 * @param parameters of the VolumeSnapshotClass
 */
record SnapshotCreation(OpenVolume source, String requestName, SnapshotParameters parameters) {
  /**
   * Takes the snapshot, or gives the one that the name has.
   *
   * @throws VolumeException ALREADY_EXISTS if the name is that of another source's snapshot
   */
  CreatedSnapshot run() {
    requireKnownEncryption();
    RbdSession session = source.session();
    IoContext io = parameters.pool().map(session::requirePool).orElse(source.pool().io());
    requireSamePool(parameters.staysOnImage(), io);
    session.visitTrash(io);
    // A snapshot's name is reserved where its volume's is, as ceph-csi does.
    IoContext journalPool =
        parameters.pool().isPresent()
            ? io
            : session.journalPool(source.entry().journalPoolId(), io);
    Journal journal = session.journal(JournalKind.SNAPSHOT, journalPool, io);
    RbdPool pool = new RbdPool(io);
    Attempt attempt = reserve(journal, pool);
    boolean deleting = AttachmentJournal.isBeingDeleted(attempt.entry());
    if (attempt.entry().isMade() || deleting) {
      Optional<HeaderSnapshot> made =
          deleting ? Optional.empty() : SnapshotImage.made(journal, io, attempt.entry());
      if (made.isPresent()) {
        return created(io, attempt.entry(), made.get());
      }
      // Its deletion has not ended; the CO still has its identifier, and deletes that.
      VolumeId id = session.id(io, attempt.entry().uuid());
      new SnapshotDeletion(new OpenSnapshot(session, id, pool, attempt.entry())).run();
      attempt = reserve(journal, pool);
      if (AttachmentJournal.isBeingDeleted(attempt.entry())) {
        throw new VolumeException(
            Reason.ABORTED, "snapshot " + requestName + " is being deleted; try again");
      }
    }
    requireSamePool(attempt.entry().nativeImage().isPresent(), io);
    AttemptImages images = new AttemptImages(session, pool, attempt, parameters.namePrefix());
    HeaderSnapshot made = new SnapshotMaker(source, images, parameters.labels()).run();
    return created(io, attempt.entry(), made);
  }

  /** Before anything is made. */
  private void requireKnownEncryption() {
    JournalEntry entry = source.entry();
    if (!entry.isEncrypted()) {
      return;
    }
    source.session().keys().requireKms(entry);
    if (parameters.staysOnImage()) {
      throw VolumeException.invalid(
          "volume "
              + source.id()
              + " is encrypted: a native snapshot has no image that could keep its passphrase; use"
              + " a VolumeSnapshotClass without snapshotMode");
    }
  }

  private void requireSamePool(boolean staysOnImage, IoContext io) {
    if (staysOnImage && io.poolId() != source.pool().io().poolId()) {
      throw VolumeException.invalid(
          "a native snapshot is in its volume's pool "
              + source.pool().io().pool()
              + ", it cannot be in "
              + io.pool());
    }
  }

  /** Reserves the name, or finds its reservation. */
  private Attempt reserve(Journal journal, RbdPool pool) {
    Map<String, String> attributes = new LinkedHashMap<>();
    attributes.put(JournalEntry.SOURCE, source.imageName());
    source.entry().owner().ifPresent(owner -> attributes.put(JournalEntry.OWNER, owner));
    attributes.putAll(EncryptionRequest.attributesOf(source.entry()));
    if (parameters.staysOnImage()) {
      attributes.put(JournalEntry.NATIVE_IMAGE, source.imageId());
    }
    Attempt attempt;
    try {
      attempt =
          journal.begin(
              requestName,
              new SnapshotNames(new ImageNames(pool, parameters.namePrefix()), source),
              attributes);
    } catch (PoolMismatchException e) {
      throw new VolumeException(Reason.ALREADY_EXISTS, e.explain(), e);
    }
    EncryptionRequest.requireOfVolume(attempt.entry(), source.entry());
    Optional<String> of = attempt.entry().source();
    if (!of.equals(Optional.of(source.imageName()))) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "snapshot " + requestName + " exists with the source " + of.orElse("another volume"));
    }
    return attempt;
  }

  private CreatedSnapshot created(IoContext io, JournalEntry entry, HeaderSnapshot snapshot) {
    return OpenSnapshot.created(source.session().id(io, entry.uuid()), source.id(), snapshot);
  }
}
