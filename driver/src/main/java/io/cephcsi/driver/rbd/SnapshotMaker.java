package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.cls.Ancestry;
import io.cephcsi.bindings.cls.FreshSnapshot;
import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes one reserved snapshot. The id of the image, or of the snapshot, enters the journal last;
 * without it, whatever a process that died left is made anew.
 *
 * @param source the volume
 * @param pool where the image is made
 * @param attempt at making it, with its reservation
 * @param parameters of the VolumeSnapshotClass
 * @param leases connections for work that goes on after the call
 * @param discarded told the id of an image in the pool's trash that can go
 */
record SnapshotMaker(
    OpenVolume source,
    RbdPool pool,
    Attempt attempt,
    SnapshotParameters parameters,
    Supplier<Lease> leases,
    Consumer<String> discarded) {
  private static final Logger LOG = LoggerFactory.getLogger(SnapshotMaker.class);

  HeaderSnapshot make(CloneBounds bounds, RbdSettings settings) {
    Made made = madeOrUndone(() -> makeAndRecord(bounds, settings));
    if (bounds.isDeep(made.depth())) {
      bounds.flatten(leases, pool.io(), entry().name());
    }
    return made.snapshot();
  }

  /** A snapshot, and how deep its image is. */
  private record Made(HeaderSnapshot snapshot, int depth) {}

  private Made makeAndRecord(CloneBounds bounds, RbdSettings settings) {
    int depth = requireRoom(bounds);
    String imageId = makeImage(settings);
    HeaderSnapshot snapshot =
        RbdSnapshots.snapshotOn(pool.io(), imageId, entry().name())
            .orElseThrow(
                () ->
                    new VolumeException(
                        Reason.ABORTED, "image " + entry().name() + " was deleted meanwhile"));
    attempt.completeImage(imageId);
    return new Made(snapshot, depth);
  }

  /** Takes the snapshot on the volume's image, where it stays. */
  HeaderSnapshot makeNative(CloneBounds bounds) {
    return madeOrUndone(
        () -> {
          FoundImage image = image();
          Ancestry.require(source.pool().io(), image.id(), image.header());
          bounds.requireRoomForSnapshot(
              leases, source.pool().io(), source.entry().name(), image.id(), image.header());
          return NativeSnapshots.take(source, attempt);
        });
  }

  private JournalEntry entry() {
    return attempt.entry();
  }

  private <T> T madeOrUndone(Supplier<T> work) {
    try {
      return work.get();
    } catch (CephException.TimedOut | CephException.Blocklisted e) {
      throw e; // it may have been made all the same: the retry finds out
    } catch (CephException | VolumeException e) {
      undo();
      if (e instanceof CephException.NotFound) {
        throw sourceMissing(e);
      }
      throw e instanceof CephException.AlreadyExists ? disturbed(e) : e;
    }
  }

  /** The id of a volume's image; a round trip for one that another driver left half made. */
  static String imageId(OpenVolume source) {
    return source
        .entry()
        .imageId()
        .or(() -> ImageId.find(source.pool(), source.entry().name()))
        .orElseThrow(() -> VolumeException.notFound("volume " + source.id() + " has no image"));
  }

  private FoundImage image() {
    return FoundImage.of(source.pool(), source.entry())
        .orElseThrow(
            () -> VolumeException.notFound("volume " + source.id() + ": its image is gone"));
  }

  private VolumeException sourceMissing(RuntimeException e) {
    return ImageId.find(source.pool(), source.entry().name()).isPresent()
        ? disturbed(e)
        : new VolumeException(
            Reason.NOT_FOUND,
            "volume " + source.id() + ": its image " + source.entry().name() + " is gone",
            e);
  }

  /** What was thrown away came back, or the other way round: somebody else works on it, too. */
  private VolumeException disturbed(RuntimeException e) {
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
  private int requireRoom(CloneBounds bounds) {
    IoContext io = source.pool().io();
    String name = source.entry().name();
    FoundImage image = image();
    int depth = Ancestry.require(io, image.id(), image.header()) + 1;
    bounds.requireDepth(leases, io, name, depth);
    bounds.requireRoomForSnapshot(leases, io, name, image.id(), image.header());
    return depth;
  }

  /**
   * The two snapshots that are taken each wait for a change of the monitors' map; the second one's
   * id is asked for together with the first, so that one change makes both.
   */
  private String makeImage(RbdSettings settings) {
    String name = entry().name();
    try (RbdImage image = source.pool().open(source.entry().name());
        FreshSnapshot own = FreshSnapshot.prepare(pool)) {
      CloneWorkshop.withSnapshot(
          image,
          name,
          () -> leftovers().requireOwnSnapshot(source.pool(), name),
          () ->
              CloneWorkshop.makeClone(
                  source.pool(),
                  source.entry().name(),
                  name,
                  pool,
                  name,
                  CloneWorkshop.INTERMEDIATE,
                  leftovers()));
      String imageId = CloneWorkshop.requireId(pool, name);
      settings.labels().write(pool, imageId, parameters.labels());
      CloneWorkshop.takeSnapshot(pool, name, imageId, name, own);
      return imageId;
    }
  }

  private Leftovers leftovers() {
    return new Leftovers(attempt, parameters.namePrefix(), discarded);
  }

  /**
   * Gives a snapshot up that is not made: what attempts left of it goes, then its reservation.
   *
   * @param leftovers of the attempt
   * @param pool the snapshot's pool
   * @param source the volume that it was to be taken of, unless that is deleted
   * @throws VolumeException ABORTED if another attempt has taken over
   */
  static void abandon(Leftovers leftovers, RbdPool pool, Optional<OpenVolume> source) {
    Runnable discard = () -> discardLeftovers(leftovers, pool, source);
    discard.run();
    leftovers.attempt().undo(discard);
  }

  private static void discardLeftovers(
      Leftovers leftovers, RbdPool pool, Optional<OpenVolume> source) {
    JournalEntry entry = leftovers.attempt().entry();
    if (entry.nativeImage().isPresent()) {
      NativeSnapshots.discard(pool, leftovers.attempt());
      return;
    }
    leftovers.discard(pool, entry.name(), true);
    source.ifPresent(volume -> removeSnapshot(leftovers, volume));
  }

  private static void removeSnapshot(Leftovers leftovers, OpenVolume source) {
    String name = leftovers.attempt().entry().name();
    String image = source.entry().name();
    if (leftovers.mayRemoveSnapshot(source.pool())) {
      CloneWorkshop.removeLeftSnapshot(source.pool(), image, name);
    } else {
      LOG.warn("snapshot {} of image {} stays, if there is one", name, image);
    }
  }

  /** Removes what an attempt left on the cluster; what hinders that is only noted. */
  private void undo() {
    try {
      abandon(leftovers(), pool, Optional.of(source));
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
        "the reservation of {} stays until the retry: {}", entry().requestName(), e.toString());
  }
}
