package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.FreshSnapshot;
import io.cephcsi.bindings.rbd.HeaderSnapshot;
import io.cephcsi.bindings.rbd.ImageHeader;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the image of one reserved snapshot. The id of the image enters the journal last; without
 * it, whatever a process that died left is made anew.
 *
 * @param source the volume
 * @param pool where the image is made
 * @param journal where it is reserved
 * @param entry its reservation
 * @param leases connections for work that goes on after the call
 * @param discarded told the id of an image in the pool's trash that can go
 */
record SnapshotMaker(
    OpenVolume source,
    RbdPool pool,
    Journal journal,
    JournalEntry entry,
    Supplier<Lease> leases,
    Consumer<String> discarded) {
  private static final Logger LOG = LoggerFactory.getLogger(SnapshotMaker.class);

  HeaderSnapshot make(CloneBounds bounds, RbdSettings settings, SnapshotParameters parameters) {
    String imageId;
    int depth;
    try {
      depth = requireRoom(bounds);
      imageId = makeImage(settings, parameters);
    } catch (CephException.TimedOut | CephException.Blocklisted e) {
      throw e; // it may have been made all the same: the retry finds out
    } catch (CephException | VolumeException e) {
      undo();
      throw e instanceof CephException.NotFound ? sourceMissing(e) : e;
    }
    HeaderSnapshot snapshot =
        RbdSnapshots.snapshotOn(pool.io(), imageId, entry.name())
            .orElseThrow(
                () ->
                    new VolumeException(
                        Reason.ABORTED, "image " + entry.name() + " was deleted meanwhile"));
    journal.setImageId(entry.uuid(), imageId);
    if (bounds.isDeep(depth)) {
      bounds.flatten(leases, pool.io(), entry.name());
    }
    return snapshot;
  }

  /** Takes the snapshot on the volume's image, where it stays. */
  HeaderSnapshot makeNative(CloneBounds bounds) {
    try {
      bounds.requireRoomForSnapshot(
          leases, source.pool().io(), source.entry().name(), imageId(source), header());
      return NativeSnapshots.take(source, journal, entry);
    } catch (CephException.TimedOut | CephException.Blocklisted e) {
      throw e; // it may have been taken all the same: the retry finds out
    } catch (CephException | VolumeException e) {
      undoNative();
      throw e instanceof CephException.NotFound ? sourceMissing(e) : e;
    }
  }

  private void undoNative() {
    try {
      NativeSnapshots.remove(source.pool(), entry);
      journal.undo(entry);
    } catch (RuntimeException e) {
      LOG.warn(
          "the reservation of {} stays until the retry: {}", entry.requestName(), e.toString());
    }
  }

  /** The id of a volume's image; a round trip for one that another driver left half made. */
  static String imageId(OpenVolume source) {
    return source
        .entry()
        .imageId()
        .or(() -> source.pool().imageId(source.entry().name()))
        .orElseThrow(() -> VolumeException.notFound("volume " + source.id() + " has no image"));
  }

  private ImageHeader header() {
    return ImageHeader.read(source.pool().io(), imageId(source))
        .orElseThrow(
            () -> VolumeException.notFound("volume " + source.id() + ": its image is gone"));
  }

  private VolumeException sourceMissing(RuntimeException e) {
    return new VolumeException(
        Reason.NOT_FOUND,
        "volume " + source.id() + ": its image " + source.entry().name() + " is gone",
        e);
  }

  /** How deep the snapshot's image will be. */
  private int requireRoom(CloneBounds bounds) {
    IoContext io = source.pool().io();
    String image = source.entry().name();
    ImageHeader header = header();
    int depth = bounds.depth(io, header) + 1;
    bounds.requireDepth(leases, io, image, depth);
    bounds.requireRoomForSnapshot(leases, io, image, imageId(source), header);
    return depth;
  }

  /**
   * The two snapshots that are taken each wait for a change of the monitors' map; the second one's
   * id is asked for together with the first, so that one change makes both.
   */
  private String makeImage(RbdSettings settings, SnapshotParameters parameters) {
    String name = entry.name();
    try (RbdImage image = source.pool().open(source.entry().name());
        FreshSnapshot own = FreshSnapshot.prepare(pool)) {
      CloneWorkshop.takeSnapshot(image, name);
      CloneWorkshop.makeClone(
          source.pool(),
          source.entry().name(),
          name,
          pool,
          name,
          CloneWorkshop.INTERMEDIATE,
          discarded);
      CloneWorkshop.removeSnapshot(image, name);
      String imageId = CloneWorkshop.requireId(pool, name);
      settings.labels().write(pool, imageId, parameters.labels());
      CloneWorkshop.takeSnapshot(pool, name, imageId, name, own);
      return imageId;
    }
  }

  /** Removes what an attempt left on the cluster; what hinders that is only noted. */
  private void undo() {
    try {
      CloneWorkshop.discard(pool, entry.name(), discarded);
      CloneWorkshop.removeSnapshot(source.pool(), source.entry().name(), entry.name());
      journal.undo(entry);
    } catch (RuntimeException e) {
      LOG.warn(
          "the reservation of {} stays until the retry: {}", entry.requestName(), e.toString());
    }
  }
}
