package io.cephcsi.driver.rbd.snapshot;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.InitialSnapshot;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.rbd.encryption.KeyOrigin;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.image.FoundImage;
import io.cephcsi.driver.rbd.session.AttemptImages;
import io.cephcsi.driver.rbd.session.FlattenPolicy;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes one reserved snapshot. The id of the image, or of the native snapshot, is written to the
 * journal last; without it, a repeated call takes the snapshot again.
 *
 * @param source the volume
 * @param images under the names of the attempt
 * @param labels Kubernetes names for the image's metadata
 */
record SnapshotMaker(OpenVolume source, AttemptImages images, Map<String, String> labels) {
  private static final Logger LOG = LoggerFactory.getLogger(SnapshotMaker.class);

  /** Makes the snapshot, on its volume's image if its entry says so. */
  HeaderSnapshot run() {
    if (entry().nativeImage().isPresent()) {
      return madeOrUndone(this::makeNative);
    }
    Made made = madeOrUndone(this::makeAndRecord);
    if (bounds().isDeep(made.depth())) {
      bounds().flatten(pool().io(), entry().name(), made.imageId());
    }
    return made.snapshot();
  }

  private FlattenPolicy bounds() {
    return source.session().bounds();
  }

  private RbdPool pool() {
    return images.pool();
  }

  /** A snapshot with its image, and how deep that is. */
  private record Made(HeaderSnapshot snapshot, String imageId, int depth) {}

  private Made makeAndRecord() {
    int depth = requireRoom();
    String imageId = makeImage();
    HeaderSnapshot snapshot =
        SnapshotImage.on(pool().io(), imageId, entry().name())
            .orElseThrow(
                () ->
                    new VolumeException(
                        Reason.ABORTED, "image " + entry().name() + " was deleted meanwhile"));
    images.attempt().completeImage(imageId);
    return new Made(snapshot, imageId, depth);
  }

  /** Takes the snapshot on the volume's image, where it stays. */
  private HeaderSnapshot makeNative() {
    FoundImage image = image();
    AncestryCheck.require(source.pool().io(), image.id(), image.header());
    bounds()
        .requireRoomForSnapshot(source.pool().io(), source.imageName(), image.id(), image.header());
    return NativeSnapshots.take(source, images.attempt());
  }

  private JournalEntry entry() {
    return images.attempt().entry();
  }

  private <T> T madeOrUndone(Supplier<T> work) {
    try {
      return work.get();
    } catch (CephException.OutcomeUnknown e) {
      throw e; // it may have been made all the same: the retry finds out
    } catch (CephException | VolumeException e) {
      if (e instanceof CephException.NotFound) {
        source.endCutOffFlatten(); // then it is opened to undo the attempt, and by the next call
      }
      undo();
      if (e instanceof CephException.NotFound) {
        throw sourceMissing(e);
      }
      throw e instanceof CephException.AlreadyExists ? conflict(e) : e;
    }
  }

  private FoundImage image() {
    return FoundImage.of(source.pool(), source.entry())
        .orElseThrow(
            () -> VolumeException.notFound("volume " + source.id() + ": its image is gone"));
  }

  private VolumeException sourceMissing(RuntimeException e) {
    if (source.image().find().isPresent()) {
      return conflict(e);
    }
    return new VolumeException(
        Reason.NOT_FOUND,
        "volume " + source.id() + ": its image " + source.imageName() + " is gone",
        e);
  }

  /** What was removed exists again, or the other way round: another driver works on it, too. */
  private VolumeException conflict(RuntimeException e) {
    return new VolumeException(
        Reason.ABORTED,
        "snapshot "
            + entry().requestName()
            + " is being made by another driver, too; try again ("
            + e.getMessage()
            + ")",
        e);
  }

  /** How deep the snapshot's image will be. */
  private int requireRoom() {
    IoContext io = source.pool().io();
    FoundImage image = image();
    int depth = source.requireDepth(image.id(), image.header());
    bounds().requireRoomForSnapshot(io, source.imageName(), image.id(), image.header());
    return depth;
  }

  /**
   * The two snapshots that are taken each wait for a change of the monitors' map; the second one's
   * id is asked for together with the first, so that one change makes both.
   */
  private String makeImage() {
    if (!entry().isEncrypted()) {
      return makeImage(Optional.empty());
    }
    VolumeKey key =
        source.session().key(source.id(), source.pool(), source.imageId(), source.entry());
    try (KeyOrigin origin = key.origin()) {
      String imageId = makeImage(Optional.of(origin));
      key.requireUnchanged(origin);
      return imageId;
    }
  }

  private String makeImage(Optional<KeyOrigin> origin) {
    String name = entry().name();
    RbdPool pool = pool();
    try (RbdImage image = source.pool().open(source.imageName());
        InitialSnapshot own = InitialSnapshot.prepare(pool)) {
      CloneSteps.withSnapshot(
          image,
          name,
          () -> images.requireOwnSnapshot(source.pool(), name),
          () ->
              images.makeClone(
                  source.pool(), source.imageName(), name, name, CloneSteps.INTERMEDIATE));
      String imageId = CloneSteps.requireId(pool, name);
      RbdSession session = source.session();
      session.settings().labels().write(pool, imageId, labels);
      VolumeId id = session.id(pool.io(), entry().uuid());
      origin.ifPresent(key -> session.key(id, pool, imageId, entry()).adopt(key));
      CloneSteps.takeSnapshot(pool, name, imageId, name, own);
      return imageId;
    }
  }

  /**
   * Gives a snapshot up that is not made: what attempts left of it goes, then its reservation.
   *
   * @param images under the names of the attempt
   * @param source the volume that it was to be taken of, unless that is deleted
   * @throws VolumeException ABORTED if another attempt has replaced this one
   */
  static void abandon(AttemptImages images, Optional<OpenVolume> source) {
    Runnable discard = () -> discard(images, source);
    discard.run();
    images.attempt().undo(discard);
    RbdSession session = images.session();
    JournalEntry entry = images.attempt().entry();
    session.keys().removeIfPossible(session.id(images.pool().io(), entry.uuid()), entry);
  }

  private static void discard(AttemptImages images, Optional<OpenVolume> source) {
    JournalEntry entry = images.attempt().entry();
    if (entry.nativeImage().isPresent()) {
      NativeSnapshots.discard(images.pool(), images.attempt());
      return;
    }
    images.discard(entry.name(), true);
    source.ifPresent(volume -> removeSnapshot(images, volume));
  }

  private static void removeSnapshot(AttemptImages images, OpenVolume source) {
    String name = images.attempt().entry().name();
    if (images.mayRemoveSnapshot(source.pool())) {
      CloneSteps.removeLeftSnapshot(source.pool(), source.imageName(), name);
    } else {
      LOG.warn(
          "snapshot {} of image {} could not be removed and may still exist",
          name,
          source.imageName());
    }
  }

  /** Removes what an attempt left on the cluster; a failure is only logged. */
  private void undo() {
    try {
      abandon(images, Optional.of(source));
    } catch (VolumeException e) {
      if (e.reason() == Reason.ABORTED) {
        throw e;
      }
      note(e);
    } catch (RuntimeException e) {
      note(e);
    }
  }

  private void note(RuntimeException e) {
    LOG.warn(
        "the journal entry of {} could not be removed; the repeated call uses or"
            + " removes it: {}",
        entry().requestName(),
        e.toString());
  }
}
