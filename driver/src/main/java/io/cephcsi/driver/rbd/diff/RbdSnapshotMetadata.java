package io.cephcsi.driver.rbd.diff;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.ChangedObjects;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ParentImage;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.image.FoundImage;
import io.cephcsi.driver.rbd.session.OpenSnapshot;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.rbd.snapshot.NativeSnapshots;
import io.cephcsi.driver.volume.Extent;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;
import java.util.function.Function;

/**
 * Allocated extents of RBD snapshots, and the extents that changed between two of them. Nothing is
 * written, and no image is opened for writing. Calls block until the receiver has taken the
 * extents, and end soon after it went away; they share the locks of the snapshots' ids.
 *
 * <p>For native snapshots librbd computes the difference. Other snapshots are images of their own,
 * cloned from snapshots in the trash namespace of the volume's image, which librbd does not find by
 * name. For these the object maps tell which objects may have changed; without valid object maps
 * all allocated objects may have. The data of these objects is compared.
 */
public final class RbdSnapshotMetadata {
  /** The most extents in one message: they are 36 bytes each until it is made. */
  public static final int MAX_RESULTS = 20_000;

  private static final int USUAL_RESULTS = 1024;

  private final RbdSessions sessions;

  /**
   * @param sessions of the calls
   */
  public RbdSnapshotMetadata(RbdSessions sessions) {
    this.sessions = sessions;
  }

  /**
   * What has data in a snapshot.
   *
   * @throws VolumeException NOT_FOUND if it does not exist; OUT_OF_RANGE if it ends before the
   *     offset
   */
  public void allocated(VolumeId snapshot, Credentials user, Extent.Request request) {
    request.sink().requireTaker(); // the call may have waited for others
    in(
        snapshot,
        user,
        session -> {
          try (OperationRegistry.Hold hold =
                  session.operations().share(snapshot.toString(), "GetMetadataAllocated");
              RbdImage image = open(find(session, snapshot))) {
            ExtentBatches batches = batches(image.size(), request);
            walk(image, Optional.empty(), request.startingOffset(), new DiffWindows(), batches);
            batches.finish();
          }
          return null;
        });
  }

  /**
   * What changed from one snapshot to a later one of the same volume.
   *
   * @throws VolumeException NOT_FOUND if one does not exist; INVALID_ARGUMENT if they are not of
   *     one volume, or in the wrong order; FAILED_PRECONDITION if that cannot be found out any
   *     more; OUT_OF_RANGE if the later one ends before the offset
   */
  public void delta(VolumeId base, VolumeId target, Credentials user, Extent.Request request) {
    request.sink().requireTaker();
    if (!base.clusterId().equals(target.clusterId())) {
      throw notOfOneVolume(base, target);
    }
    in(
        target,
        user,
        session -> {
          try (OperationRegistry.Hold older =
                  session.operations().share(base.toString(), "GetMetadataDelta");
              OperationRegistry.Hold newer =
                  session.operations().share(target.toString(), "GetMetadataDelta")) {
            delta(find(session, base), find(session, target), request);
          }
          return null;
        });
  }

  private void delta(OpenSnapshot base, OpenSnapshot target, Extent.Request request) {
    Position older = position(base);
    Position newer = position(target);
    if (!older.imageId().equals(newer.imageId())
        || older.pool().io().poolId() != newer.pool().io().poolId()) {
      throw notOfOneVolume(base.id(), target.id());
    }
    if (older.snapshotId() > newer.snapshotId()) {
      throw VolumeException.invalid(
          "base_snapshot_id: snapshot " + base.id() + " is newer than snapshot " + target.id());
    }
    try (RbdImage then = open(older);
        RbdImage now = open(newer)) {
      ExtentBatches batches = batches(now.size(), request);
      long from = request.startingOffset();
      if (older.snapshotId() < newer.snapshotId()) {
        if (base.staysOnImage()) {
          walk(now, Optional.of(base.entry().name()), from, new DiffWindows(), batches);
        } else {
          try (ChangedObjects changed =
              ChangedObjects.between(
                      newer.pool(), newer.imageId(), older.snapshotId(), newer.snapshotId())
                  .orElse(null)) {
            new SnapshotComparison(then, now, batches)
                .compare(Optional.ofNullable(changed), new DiffWindows(), from);
          }
        }
      }
      batches.finish();
    }
  }

  private static VolumeException notOfOneVolume(VolumeId base, VolumeId target) {
    return VolumeException.invalid(
        "snapshots " + base + " and " + target + " were not taken of the same volume");
  }

  private static ExtentBatches batches(long size, Extent.Request request) {
    if (request.startingOffset() > size) {
      throw new VolumeException(
          Reason.OUT_OF_RANGE,
          "starting_offset "
              + request.startingOffset()
              + " is beyond the end of the volume of "
              + size
              + " bytes");
    }
    int asked = request.maxResults();
    int max = asked == 0 ? USUAL_RESULTS : Math.min(asked, MAX_RESULTS);
    return new ExtentBatches(size, request.startingOffset(), max, request.sink());
  }

  /**
   * Tells of what is allocated, or changed since a snapshot, up to the active one.
   *
   * @param windows bounds what is kept in memory
   */
  static void walk(
      RbdImage image,
      Optional<String> since,
      long from,
      DiffWindows windows,
      ExtentBatches batches) {
    windows.walk(
        from,
        image.size(),
        (offset, length, visitor) ->
            image.diff(since, offset, length, since.isEmpty(), false, visitor),
        batches::requireTaker,
        found -> {
          for (Extent extent : found) {
            batches.add(extent.offset(), extent.length());
            batches.flush();
          }
        });
  }

  private <T> T in(VolumeId id, Credentials user, Function<RbdSession, T> work) {
    return sessions.in(sessions.clusters().requireOf(id, "snapshot"), user, work);
  }

  private static OpenSnapshot find(RbdSession session, VolumeId id) {
    return session
        .findSnapshot(id)
        .filter(OpenSnapshot::isTaken)
        .flatMap(RbdSnapshotMetadata::current)
        .orElseThrow(() -> notFound(id));
  }

  /** With the ids of what is there, which may have replaced what was recorded. */
  private static Optional<OpenSnapshot> current(OpenSnapshot snapshot) {
    JournalEntry entry = snapshot.entry();
    Optional<JournalEntry> now =
        snapshot.staysOnImage()
            ? NativeSnapshots.locate(snapshot.pool().io(), entry).map(NativeSnapshots.Found::entry)
            : FoundImage.of(snapshot.pool(), entry).map(image -> entry.withImageId(image.id()));
    return now.map(
        found -> new OpenSnapshot(snapshot.session(), snapshot.id(), snapshot.pool(), found));
  }

  private static VolumeException notFound(VolumeId id) {
    return VolumeException.notFound("snapshot " + id + " does not exist");
  }

  private static RbdImage open(OpenSnapshot snapshot) {
    JournalEntry entry = snapshot.entry();
    AncestryCheck.require(
        snapshot.pool().io(), entry.nativeImage().or(entry::imageId).orElseThrow());
    try {
      return snapshot.staysOnImage()
          ? open(position(snapshot))
          : snapshot.pool().openByIdReadOnly(entry.imageId().orElseThrow(), entry.name());
    } catch (CephException.NotFound e) {
      throw new VolumeException(
          Reason.NOT_FOUND, "snapshot " + snapshot.id() + ": " + e.getMessage(), e);
    }
  }

  private static RbdImage open(Position at) {
    RbdImage image = at.pool().openByIdReadOnly(at.imageId());
    try {
      image.snapshots().setActive(at.snapshotId());
      return image;
    } catch (CephException e) {
      image.close();
      throw e;
    }
  }

  /** Where a snapshot is on the image of its volume, which may be deleted and in the trash. */
  private static Position position(OpenSnapshot snapshot) {
    JournalEntry entry = snapshot.entry();
    if (snapshot.staysOnImage()) {
      return new Position(
          snapshot.pool(), entry.nativeImage().get(), entry.nativeSnapshot().orElseThrow());
    }
    try (RbdImage image = open(snapshot)) {
      ParentImage parent =
          image
              .parent()
              .orElseThrow(
                  () ->
                      new VolumeException(
                          Reason.FAILED_PRECONDITION,
                          "snapshot "
                              + snapshot.id()
                              + " was flattened and shares no data with other snapshots of its"
                              + " volume any more: call GetMetadataAllocated instead"));
      IoContext io = snapshot.session().lease().rbdPool(parent.poolId());
      return new Position(new RbdPool(io), parent.imageId(), parent.snapshotId());
    }
  }

  /** A snapshot on its volume's image. */
  private record Position(RbdPool pool, String imageId, long snapshotId) {}
}
