package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.rbd.image.EndedFlatten;
import io.cephcsi.driver.rbd.image.FoundImage;
import io.cephcsi.driver.rbd.image.RecordedImage;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.session.OpenSnapshot;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.rbd.snapshot.NativeSnapshots;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;

/**
 * The image that a clone is made from.
 *
 * @param pool its pool
 * @param entry what the journal says of the volume or snapshot
 * @param imageId its id
 * @param header of it
 * @param size how much of it is the content, in bytes
 */
record CloneSource(
    RbdPool pool, JournalEntry entry, String imageId, ImageHeader header, long size) {
  /**
   * Finds the image of a source.
   *
   * @param encryption of the new volume
   * @throws VolumeException NOT_FOUND if the source does not exist; INVALID_ARGUMENT if it is
   *     encrypted and the volume is not to be, or the other way round
   */
  static CloneSource require(
      RbdSession session, ContentSource from, Optional<EncryptionRequest> encryption) {
    Optional<Known> known = find(session, from);
    known.ifPresent(
        found ->
            EncryptionRequest.requireCopyable(
                encryption, "the source " + from.id(), found.entry()));
    return known
        .flatMap(found -> of(session, found.pool(), found.entry()))
        .orElseThrow(
            () ->
                VolumeException.notFound(
                    (from instanceof ContentSource.OfSnapshot ? "snapshot " : "volume ")
                        + from.id()
                        + " does not exist"));
  }

  /**
   * A source that the journal knows.
   *
   * @param pool of its image
   * @param entry what the journal says
   */
  record Known(RbdPool pool, JournalEntry entry) {
    static Known of(OpenSnapshot snapshot) {
      return new Known(snapshot.pool(), snapshot.entry());
    }

    static Known of(OpenVolume volume) {
      return new Known(volume.pool(), volume.entry());
    }
  }

  /** What the journal says of a source; one round trip. */
  static Optional<Known> find(RbdSession session, ContentSource from) {
    return from instanceof ContentSource.OfSnapshot
        ? session.findSnapshot(from.id()).map(Known::of)
        : session.find(from.id()).map(Known::of);
  }

  private static Optional<CloneSource> of(RbdSession session, RbdPool pool, JournalEntry entry) {
    return entry.nativeImage().isPresent()
        ? ofNative(session, pool, entry)
        : FoundImage.of(pool, entry)
            .map(
                image ->
                    new CloneSource(
                        pool, entry, image.id(), image.header(), image.header().size()));
  }

  /** A snapshot on its volume's image, which may have another size by now. */
  private static Optional<CloneSource> ofNative(
      RbdSession session, RbdPool pool, JournalEntry entry) {
    IoContext io = pool.io();
    Journal journal =
        session.journal(JournalKind.SNAPSHOT, session.journalPool(entry.journalPoolId(), io), io);
    return NativeSnapshots.locate(journal, io, entry)
        .flatMap(
            found -> {
              String id = found.entry().nativeImage().orElseThrow();
              long size = found.snapshot().size();
              return ImageHeader.read(io, id)
                  .map(header -> new CloneSource(pool, found.entry(), id, header, size));
            });
  }

  /**
   * Makes a lost name lead to the image again, see {@link RecordedImage#restoreName}. Of the volume
   * of a native snapshot, which may be being deleted, the entry of the volume would have to tell.
   */
  boolean restoreName() {
    return !isNative() && RecordedImage.restoreName(pool, entry);
  }

  /** Whether the image is there, by whatever name; two round trips. */
  boolean isOutOfTrash() {
    return ImageHeader.read(pool.io(), imageId).isPresent() && pool.trashEntry(imageId).isEmpty();
  }

  /**
   * The source without what a flattening left that was cut off before its last step: librbd opens a
   * parent that is gone, or clones what cannot be read, and the parent would count as an ancestor.
   * Three round trips for each ancestor.
   *
   * @param what it is, for the log
   */
  CloneSource readable(String what) {
    return entry.isMade() && EndedFlatten.of(pool.io(), imageId, what)
        ? new CloneSource(
            pool, entry, imageId, ImageHeader.read(pool.io(), imageId).orElse(header), size)
        : this;
  }

  /**
   * What opens it, of a source that is encrypted.
   *
   * @param id of the source
   * @param parameters of the new volume
   * @throws VolumeException FAILED_PRECONDITION as of {@link
   *     io.cephcsi.driver.encryption.KeyAccess#requireOwnSource}
   */
  VolumeKey key(RbdSession session, VolumeId id, RbdParameters parameters) {
    session
        .keys()
        .requireOwnSource(
            parameters.encryption().orElseThrow(), parameters.owner(), "the source " + id, entry);
    return session.key(id, pool, imageId, entry);
  }

  /** Whether it is a snapshot that stays on the image. */
  boolean isNative() {
    return entry.nativeImage().isPresent();
  }

  /** The name of the image. */
  String image() {
    return isNative() ? entry.source().orElseThrow() : entry.name();
  }

  /** Whether the image has its name, and is not in the trash; one round trip. */
  boolean isLive() {
    return ImageId.find(pool, image()).equals(Optional.of(imageId));
  }
}
