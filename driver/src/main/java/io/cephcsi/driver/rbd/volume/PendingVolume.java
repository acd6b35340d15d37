package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.PreparedCreation;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.rbd.session.AttemptImages;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A volume during CreateVolume.
 *
 * @param session of the call
 * @param request what is asked for
 * @param pool where the image is made
 * @param attempt at making it, with its reservation
 * @param empty makes its image; there if its content comes from nowhere
 */
record PendingVolume(
    RbdSession session,
    VolumeRequest request,
    RbdPool pool,
    Attempt attempt,
    Optional<PreparedCreation> empty) {
  private static final Logger LOG = LoggerFactory.getLogger(PendingVolume.class);

  /** Its reservation. */
  JournalEntry entry() {
    return attempt.entry();
  }

  /** The name of the image. */
  String image() {
    return entry().name();
  }

  /** The name of the image between it and the volume that it is cloned from. */
  String temporary() {
    return ImageNames.temporary(image());
  }

  /** The images under its names. */
  AttemptImages images() {
    return new AttemptImages(session, pool, attempt, request.parameters().namePrefix());
  }

  /** What opens it; for a volume that is encrypted. */
  VolumeKey key(String imageId) {
    return session.key(volume().id(), pool, imageId, entry());
  }

  /** The volume that its entry tells of. */
  OpenVolume volume() {
    return new OpenVolume(session, session.id(pool.io(), entry().uuid()), pool, entry());
  }

  /**
   * Requires that an image has the size that is asked for.
   *
   * @param size in bytes
   * @throws VolumeException ALREADY_EXISTS if not
   */
  void requireSize(long size) {
    CapacityRange capacity = request.capacity();
    if (!capacity.contains(size)) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "volume "
              + entry().requestName()
              + " exists with "
              + size
              + " bytes, which is not between "
              + capacity.required()
              + " and "
              + (capacity.limit() == 0 ? "unlimited" : capacity.limit()));
    }
  }

  /** Records what its content comes from, if a former attempt was to take it from elsewhere. */
  void recordSource() {
    Optional<String> before = entry().contentSource();
    if (!before.equals(request.sourceId())) {
      removeTemporary(before);
      attempt.recordSource(request.sourceId());
    }
  }

  /**
   * Gives it up before it is made: what attempts left of it goes, then its reservation.
   *
   * @throws VolumeException ABORTED if another attempt has replaced this one
   */
  void abandon() {
    discard();
    attempt.undo(this::discard);
    session.keys().removeIfPossible(volume().id(), entry());
  }

  private void discard() {
    images().discard(image(), request.source().isPresent());
    Optional<String> before = entry().contentSource();
    removeTemporary(before);
    if (!before.equals(request.sourceId())) {
      removeTemporary(request.sourceId());
    }
  }

  /** Removes what attempts left of a clone of a source. */
  void removeTemporary(Optional<String> source) {
    source.flatMap(VolumeId::parse).ifPresent(this::removeTemporary);
  }

  /**
   * Removes what attempts left of a clone of a volume. A volume in another pool that only the entry
   * names is left alone: who may write to the entry may have no right to that pool.
   *
   * @param id the volume; what is that of a snapshot has left nothing
   * @throws VolumeException ABORTED if another attempt has replaced this one
   */
  private void removeTemporary(VolumeId id) {
    images().discard(temporary(), true);
    Optional<OpenVolume> found = session.find(id);
    if (found.isEmpty()) {
      return;
    }
    RbdPool from = found.get().pool();
    String parent = found.get().imageName();
    boolean own =
        attempt.isIn(from.io())
            || (request.sourceId().equals(Optional.of(id.toString()))
                && images().mayRemoveSnapshot(from));
    if (own) {
      CloneSteps.removeLeftSnapshot(from, parent, temporary());
    } else {
      LOG.warn(
          "snapshot {} of image {} in pool {} could not be removed and may still exist",
          temporary(),
          parent,
          from.io().pool());
    }
  }
}
