package io.cephcsi.driver.rbd.snapshot;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.rbd.image.RecordedImage;
import java.util.Optional;

/** Finds the snapshot of a journal entry on the cluster. */
public final class SnapshotImage {
  private SnapshotImage() {}

  /** That of an entry which is complete, unless its deletion has begun. */
  static Optional<HeaderSnapshot> made(Journal journal, IoContext io, JournalEntry entry) {
    if (entry.nativeImage().isPresent()) {
      return NativeSnapshots.locate(journal, io, entry).map(NativeSnapshots.Found::snapshot);
    }
    RbdPool pool = new RbdPool(io);
    return entry.imageId().flatMap(pool::trashEntry).isPresent()
        ? Optional.empty()
        : RecordedImage.find(pool, journal, entry).flatMap(id -> on(io, id, entry.name()));
  }

  /**
   * That of an entry whose image was recorded: that is the last step. An image that has only lost
   * its name gets it back.
   */
  public static Optional<HeaderSnapshot> finished(IoContext io, JournalEntry entry) {
    RbdPool pool = new RbdPool(io);
    return entry
        .imageId()
        .filter(
            id ->
                ImageId.find(pool, entry.name()).equals(Optional.of(id))
                    || RecordedImage.restoreName(pool, entry))
        .flatMap(id -> on(io, id, entry.name()));
  }

  /** The snapshot that carries the name of its image; two round trips. */
  static Optional<HeaderSnapshot> on(IoContext io, String imageId, String name) {
    return ImageHeader.read(io, imageId)
        .map(header -> ImageHeader.snapshots(io, imageId, header.snapshotIds()))
        .flatMap(
            snapshots ->
                snapshots.stream()
                    .filter(s -> s.namespace() == SnapshotNamespace.USER && s.name().equals(name))
                    .findFirst());
  }
}
