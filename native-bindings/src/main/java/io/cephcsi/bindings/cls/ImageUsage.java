package io.cephcsi.bindings.cls;

import java.util.List;
import java.util.OptionalLong;

/**
 * What an image has allocated, in bytes, each version of an object counted once; without its
 * parent, without copies on several OSDs. The numbers are those of {@code rbd du}.
 *
 * @param method how it was measured
 * @param sizeBytes the image's size
 * @param headBytes what the image itself has now, shared with its snapshots or not
 * @param headObjects how many objects the image itself has now; empty when no object map was
 *     counted
 * @param sinceSnapshotBytes the part of it that was written since the newest snapshot, which {@code
 *     rbd du} shows for an image with snapshots; all of it without snapshots
 * @param snapshots the snapshots of users, oldest first
 * @param inheritedBytes what a clone reads from its parent; empty when that was not asked
 */
public record ImageUsage(
    Method method,
    long sizeBytes,
    long headBytes,
    OptionalLong headObjects,
    long sinceSnapshotBytes,
    List<OfSnapshot> snapshots,
    OptionalLong inheritedBytes) {
  /** Copies the list. */
  public ImageUsage {
    snapshots = List.copyOf(snapshots);
  }

  /** All that is allocated: the total of {@code rbd du}. */
  public long totalBytes() {
    return sinceSnapshotBytes + snapshots.stream().mapToLong(OfSnapshot::bytes).sum();
  }

  /** What only snapshots hold: it would be free without them. */
  public long snapshotBytes() {
    return Math.max(0, totalBytes() - headBytes);
  }

  ImageUsage withInherited(long bytes) {
    return new ImageUsage(
        method,
        sizeBytes,
        headBytes,
        headObjects,
        sinceSnapshotBytes,
        snapshots,
        OptionalLong.of(bytes));
  }

  /** Ways to measure, from quick to slow. */
  public enum Method {
    /** The object maps were read: whole objects. */
    OBJECT_MAP,
    /** librbd compared object maps: whole objects. */
    FAST_DIFF,
    /** Every object was asked, as there is no valid object map: whole objects. */
    FULL_WALK,
    /** Every object was asked for its extents. */
    EXACT_DIFF
  }

  /**
   * A snapshot.
   *
   * @param id the snapshot's id
   * @param name the snapshot's name
   * @param sizeBytes the image's size when it was taken
   * @param bytes what was written since the snapshot before and is in this one
   */
  public record OfSnapshot(long id, String name, long sizeBytes, long bytes) {}
}
