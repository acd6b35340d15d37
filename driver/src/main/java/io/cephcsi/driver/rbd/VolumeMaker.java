package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.ImageHeader;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the image of a reserved volume, or finds it made. The id of the image enters the journal
 * last: without it the image was never given to anybody, and is looked at with suspicion.
 */
final class VolumeMaker {
  private static final Logger LOG = LoggerFactory.getLogger(VolumeMaker.class);

  private final Cloner cloner;
  private final ImageLabels labels;

  VolumeMaker(Cloner cloner, ImageLabels labels) {
    this.cloner = cloner;
    this.labels = labels;
  }

  /**
   * Makes the image unless it is there. An empty one costs the image, and one write to record its
   * id.
   *
   * @return the size of the image
   * @throws VolumeException ALREADY_EXISTS if the name's volume does not fit the request
   */
  long make(VolumeMaking making) {
    Optional<Long> existing = making.entry().imageId().flatMap(id -> finished(making, id));
    if (existing.isPresent()) {
      return existing.get();
    }
    Made made;
    try {
      made = makeImage(making);
    } catch (CephException.TimedOut | CephException.Blocklisted e) {
      throw e; // it may have been made all the same: the retry finds out
    } catch (CephException | VolumeException e) {
      undo(making, e);
      throw e;
    }
    record(making, made.imageId());
    return made.size();
  }

  /** An image, with its size in bytes. */
  private record Made(String imageId, long size) {}

  private Optional<Long> finished(VolumeMaking making, String imageId) {
    if (!making.pool().imageId(making.image()).equals(Optional.of(imageId))) {
      return Optional.empty(); // deleted, and perhaps in the trash
    }
    return ImageHeader.read(making.pool().io(), imageId)
        .map(
            header -> {
              requireSize(making, header.size());
              cloner.requireSameSource(making, header);
              return header.size();
            });
  }

  private static void requireSize(VolumeMaking making, long size) {
    CapacityRange capacity = making.capacity();
    if (!capacity.contains(size)) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "volume "
              + making.entry().requestName()
              + " exists with "
              + size
              + " bytes, which is not between "
              + capacity.required()
              + " and "
              + (capacity.limit() == 0 ? "unlimited" : capacity.limit()));
    }
  }

  private Made makeImage(VolumeMaking making) {
    if (making.source().isEmpty()) {
      return makeEmpty(making);
    }
    long size = cloner.make(making, making.source().get());
    String imageId = CloneWorkshop.requireId(making.pool(), making.image());
    return new Made(imageId, size);
  }

  private static Made makeEmpty(VolumeMaking making) {
    long size = making.capacity().sizeToCreate();
    RbdPool pool = making.pool();
    ImageOptions options = making.parameters().options();
    try {
      return new Made(pool.createPlain(making.image(), size, options), size);
    } catch (CephException.AlreadyExists e) {
      Optional<String> id = pool.imageId(making.image());
      Optional<ImageHeader> left = id.flatMap(found -> ImageHeader.read(pool.io(), found));
      if (left.isPresent() && left.get().parent().isEmpty()) {
        requireSize(making, left.get().size());
        return new Made(id.get(), left.get().size());
      }
      // A process died while it made the image: its name is taken, but there is no header, so there
      // cannot be any data; or it is a clone that nobody was given. It is swept away.
      LOG.info("image {} was left half made; making it anew", making.image());
      CloneWorkshop.discard(pool, making.image(), making.discarded());
      return new Made(pool.createPlain(making.image(), size, options), size);
    }
  }

  private void record(VolumeMaking making, String imageId) {
    JournalEntry entry = making.entry();
    labels.write(making.pool(), imageId, making.parameters().labels());
    if (!entry.imageId().equals(Optional.of(imageId))) {
      making
          .journal()
          .complete(entry.uuid(), imageId, making.source().map(source -> source.id().toString()));
    }
  }

  /** Takes a reservation back when the image could not be made; what hinders that is only noted. */
  private void undo(VolumeMaking making, RuntimeException because) {
    if (because instanceof VolumeException e && e.reason() == Reason.ALREADY_EXISTS) {
      return;
    }
    try {
      if (making.source().isPresent()) {
        cloner.undo(making);
      }
      making.journal().undo(making.entry());
    } catch (RuntimeException e) {
      LOG.warn(
          "the reservation of {} stays until the retry: {}",
          making.entry().requestName(),
          e.toString());
    }
  }
}
