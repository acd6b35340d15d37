package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.MirrorPart;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The snapshots of an image that mirroring took, newest first, as a promotion depends on them.
 * While a daemon copies one, the image has something of it and something of the one before. An
 * image that is mirrored by a journal has none.
 *
 * @param newestFirst they, and others
 */
record MirrorSnapshots(List<HeaderSnapshot> newestFirst) {
  /** Copies the list. */
  MirrorSnapshots {
    newestFirst = List.copyOf(newestFirst);
  }

  /**
   * Of an image; two round trips.
   *
   * @throws VolumeException ABORTED while the daemon changes them
   */
  static MirrorSnapshots of(IoContext io, String imageId) {
    try {
      List<Long> ids =
          ImageHeader.read(io, imageId).map(ImageHeader::snapshotIds).orElse(List.of());
      return new MirrorSnapshots(ImageHeader.snapshots(io, imageId, ids));
    } catch (CephException.NotFound e) {
      throw new VolumeException(
          Reason.ABORTED, "the snapshots of the image are being changed; try again", e);
    }
  }

  private List<HeaderSnapshot> mirrored() {
    return newestFirst.stream().filter(snapshot -> snapshot.mirror().isPresent()).toList();
  }

  private static MirrorPart part(HeaderSnapshot snapshot) {
    return snapshot.mirror().orElseThrow();
  }

  /** Whether one that is not of the primary is copied completely. */
  static boolean isComplete(HeaderSnapshot snapshot) {
    return part(snapshot).complete();
  }

  /** Whether the image is a copy that was never complete. */
  boolean neverComplete() {
    List<HeaderSnapshot> all = mirrored();
    return !all.isEmpty()
        && all.stream().map(MirrorSnapshots::part).allMatch(p -> p.orphan() || p.half());
  }

  /**
   * Whether the newest one is of a demotion of another site and not copied completely. librbd of
   * Ceph 16 promotes such an image unforced.
   */
  boolean endsInHalfDemotion() {
    return orphans().isEmpty() && half().filter(MirrorSnapshots::isDemotedCopy).isPresent();
  }

  /**
   * Whether the newest one is of a demotion: of this site, or of another one and copied completely.
   */
  boolean endsInDemotion() {
    return mirrored().stream()
        .findFirst()
        .map(MirrorSnapshots::part)
        .filter(
            newest ->
                newest.kind() == MirrorPart.Kind.DEMOTED
                    || (newest.kind() == MirrorPart.Kind.DEMOTED_COPY && newest.complete()))
        .isPresent();
  }

  /** When the newest copy of another site was begun here. */
  Optional<Instant> newestCopy() {
    return mirrored().stream()
        .filter(s -> part(s).kind() == MirrorPart.Kind.COPY || isDemotedCopy(s))
        .findFirst()
        .map(HeaderSnapshot::createdAt);
  }

  private static boolean isDemotedCopy(HeaderSnapshot snapshot) {
    return part(snapshot).kind() == MirrorPart.Kind.DEMOTED_COPY;
  }

  /** The newest ones, if forced promotions that were cut off left them. */
  List<HeaderSnapshot> orphans() {
    return mirrored().stream().takeWhile(snapshot -> part(snapshot).orphan()).toList();
  }

  /** The newest one but for orphans, if it is a copy that is not complete. */
  Optional<HeaderSnapshot> half() {
    return mirrored().stream()
        .dropWhile(snapshot -> part(snapshot).orphan())
        .findFirst()
        .filter(snapshot -> part(snapshot).half());
  }

  /**
   * The snapshot that librbd goes back to when it is forced to promote an image of which a part is
   * copied: the newest complete one. A daemon takes the snapshot of a copy first, and copies then;
   * so it has the content of the copy before it.
   *
   * @return empty when librbd does not have to go back
   * @throws VolumeException FAILED_PRECONDITION when it would not, or would fail over it
   */
  Optional<HeaderSnapshot> wayBack() {
    Optional<HeaderSnapshot> half = half();
    if (half.isEmpty()) {
      return Optional.empty();
    }
    if (isDemotedCopy(half.get())) {
      throw noWayBack("the copy is of the demotion of the other site");
    }
    for (HeaderSnapshot snapshot :
        newestFirst.subList(newestFirst.indexOf(half.get()) + 1, newestFirst.size())) {
      if (snapshot.mirror().isEmpty()) { // librbd takes it for one, and ends the process
        throw noWayBack("snapshot " + snapshot.name() + " was taken between two copies");
      }
      if (!part(snapshot).half()) {
        return Optional.of(snapshot);
      }
    }
    throw noWayBack("no copy is complete");
  }

  /** What is told of an image that librbd would make the primary with a part of a copy. */
  static VolumeException noWayBack(String why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "the image is copied in part, and librbd cannot go back to a complete copy: "
            + why
            + "; nothing is changed. It can be promoted when the rest is copied, or when it was made"
            + " anew from the other site (ResyncVolume)");
  }
}
