package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.PreparedCreation;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the image of a reserved volume, or finds it made. The id of the image enters the journal
 * last: without it the image was never given to anybody, and is made anew.
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
   * @return the size of the image; empty if the entry is that of a volume whose deletion has begun,
   *     or whose image is gone: it is to be deleted, and the name to be reserved anew
   * @throws VolumeException ALREADY_EXISTS if the name's volume does not fit the request
   */
  OptionalLong make(VolumeMaking making) {
    JournalEntry entry = making.entry();
    if (AttachmentJournal.isBeingDeleted(entry)) {
      return OptionalLong.empty();
    }
    if (entry.imageId().isPresent()) {
      return finished(making);
    }
    try {
      MadeImage made = makeImage(making);
      record(making, made);
      return OptionalLong.of(made.size());
    } catch (CephException.TimedOut | CephException.Blocklisted e) {
      throw e; // it may have been made all the same: the retry finds out
    } catch (CephException | VolumeException e) {
      undo(making, e);
      throw e instanceof CephException.AlreadyExists ? disturbed(making, e) : e;
    }
  }

  private OptionalLong finished(VolumeMaking making) {
    return RecordedImage.find(making.pool(), making.attempt().journal(), making.entry())
        .flatMap(id -> ImageHeader.read(making.pool().io(), id))
        .map(
            header -> {
              requireSize(making, header.size());
              cloner.requireSameSource(making, header);
              return OptionalLong.of(header.size());
            })
        .orElseGet(OptionalLong::empty);
  }

  /** What was thrown away came back: somebody works on it who does not know that he is late. */
  private static VolumeException disturbed(VolumeMaking making, RuntimeException e) {
    return new VolumeException(
        Reason.ABORTED,
        "volume "
            + making.entry().requestName()
            + " is being made by another driver, too; try again ("
            + e.getMessage()
            + ")",
        e);
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

  private MadeImage makeImage(VolumeMaking making) {
    Optional<String> before = making.entry().contentSource();
    if (!before.equals(making.sourceId())) {
      removeTemporary(making, before);
      making.attempt().recordSource(making.sourceId());
    }
    return making.source().isEmpty()
        ? makeEmpty(making)
        : cloner.make(making, making.source().get());
  }

  private void removeTemporary(VolumeMaking making, Optional<String> source) {
    source.flatMap(VolumeId::parse).ifPresent(id -> cloner.removeTemporary(making, id));
  }

  private static MadeImage makeEmpty(VolumeMaking making) {
    long size = making.capacity().sizeToCreate();
    try {
      return create(making, size);
    } catch (CephException.AlreadyExists e) {
      Optional<MadeImage> others = madeByOthers(making);
      if (others.isPresent()) {
        return others.get();
      }
      making.leftovers().discard(making.pool(), making.image(), false);
      return create(making, size);
    }
  }

  private static MadeImage create(VolumeMaking making, long size) {
    PreparedCreation.Created created = making.empty().orElseThrow().create(making.image(), size);
    return new MadeImage(created.id(), size, created.certain());
  }

  /**
   * An image without a parent that another program made, and did not record: old ones did not. It
   * may be in use for long.
   */
  private static Optional<MadeImage> madeByOthers(VolumeMaking making) {
    if (!making.attempt().isTakenFromOthers()) {
      return Optional.empty();
    }
    RbdPool pool = making.pool();
    Optional<String> id = ImageId.find(pool, making.image());
    return id.flatMap(found -> ImageHeader.read(pool.io(), found))
        .filter(header -> header.parent().isEmpty())
        .map(
            header -> {
              requireSize(making, header.size());
              return new MadeImage(id.orElseThrow(), header.size(), false);
            });
  }

  private void record(VolumeMaking making, MadeImage made) {
    try {
      labels.write(making.pool(), made.id(), making.parameters().labels());
      making.attempt().completeImage(made.id());
    } catch (CephException.NotFound | VolumeException e) {
      if (made.own()) {
        making.leftovers().discardOwn(making.pool(), making.image(), made.id());
      }
      throw e;
    }
  }

  /**
   * Gives a volume up that is not made: what attempts left of it goes, then its reservation.
   *
   * @throws VolumeException ABORTED if another attempt has taken over
   */
  void abandon(VolumeMaking making) {
    discardLeftovers(making);
    making.attempt().undo(() -> discardLeftovers(making));
  }

  private void discardLeftovers(VolumeMaking making) {
    making.leftovers().discard(making.pool(), making.image(), making.source().isPresent());
    Optional<String> before = making.entry().contentSource();
    removeTemporary(making, before);
    if (!before.equals(making.sourceId())) {
      removeTemporary(making, making.sourceId());
    }
  }

  /** Takes a reservation back when the image could not be made; what hinders that is only noted. */
  private void undo(VolumeMaking making, RuntimeException because) {
    try {
      if (because instanceof VolumeException e && e.reason() == Reason.ALREADY_EXISTS) {
        removeTemporary(making, making.sourceId()); // what has the name is not this call's
      } else {
        abandon(making);
      }
    } catch (VolumeException e) {
      if (e.reason() == Reason.ABORTED) {
        throw e;
      }
      note(making, e);
    } catch (RuntimeException e) {
      note(making, e);
    }
  }

  private static void note(VolumeMaking making, RuntimeException e) {
    LOG.warn(
        "the reservation of {} stays until the retry: {}",
        making.entry().requestName(),
        e.toString());
  }
}
