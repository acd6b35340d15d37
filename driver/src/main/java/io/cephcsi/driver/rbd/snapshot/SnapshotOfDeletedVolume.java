package io.cephcsi.driver.rbd.snapshot;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.rbd.session.AttemptImages;
import io.cephcsi.driver.rbd.session.OpenSnapshot;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.volume.CreatedSnapshot;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One CreateSnapshot whose volume has been deleted: a complete snapshot of that name is returned,
 * an incomplete one is removed. A name that was reserved in a pool that only the journal entry of
 * the volume named is not found.
 *
 * @param session of the call
 * @param source the volume, as the caller calls it
 * @param at where it was on this cluster
 * @param requestName the name that the CO chose
 * @param parameters of the VolumeSnapshotClass
 */
record SnapshotOfDeletedVolume(
    RbdSession session,
    VolumeId source,
    VolumeId at,
    String requestName,
    SnapshotParameters parameters) {
  /** Finds the snapshot. */
  Optional<CreatedSnapshot> find() {
    return parameters
        .pool()
        .map(session::requirePool)
        .or(() -> session.pool(at))
        .flatMap(this::find);
  }

  private Optional<CreatedSnapshot> find(IoContext io) {
    RbdPool pool = new RbdPool(io);
    Journal journal = session.journal(JournalKind.SNAPSHOT, io);
    Optional<JournalEntry> found = journal.byName(requestName);
    if (found.isEmpty() && journal.imagePoolOf(requestName).equals(OptionalLong.of(io.poolId()))) {
      // A process died between the name and its entry: the entry is made, and taken back with it.
      ImageNames names = new ImageNames(pool, parameters.namePrefix());
      journal.begin(requestName, names, Map.of()).undo(() -> {});
    }
    return found
        .filter(this::isOfSource)
        .filter(e -> e.groupId().isEmpty())
        .flatMap(entry -> made(pool, journal, entry));
  }

  private Optional<CreatedSnapshot> made(RbdPool pool, Journal journal, JournalEntry entry) {
    IoContext io = pool.io();
    if (entry.isMade() && !AttachmentJournal.isBeingDeleted(entry)) {
      return SnapshotImage.made(journal, io, entry)
          .map(snapshot -> OpenSnapshot.created(session.id(io, entry.uuid()), source, snapshot));
    }
    session.visitTrash(io);
    Attempt attempt = journal.begin(requestName, uuid -> entry.name(), Map.of());
    if (AttachmentJournal.isBeingDeleted(attempt.entry())) {
      VolumeId id = session.id(io, entry.uuid());
      new SnapshotDeletion(new OpenSnapshot(session, id, pool, attempt.entry())).run();
    } else if (!attempt.entry().isMade()) {
      AttemptImages images = new AttemptImages(session, pool, attempt, parameters.namePrefix());
      SnapshotMaker.abandon(images, Optional.empty());
    }
    return Optional.empty();
  }

  private boolean isOfSource(JournalEntry entry) {
    return entry.source().flatMap(ImageNames::uuidAtEnd).equals(Optional.of(source.uuid()));
  }
}
