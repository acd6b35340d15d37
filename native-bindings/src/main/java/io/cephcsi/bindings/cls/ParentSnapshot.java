package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import java.util.List;
import java.util.Optional;

/**
 * A snapshot that images were cloned from, as the header of its image has it; see {@link
 * ImageHeader}.
 *
 * <pre>
 *   omap                    snapshot_ID → ..., snap_children_ID → as of children_list; the
 *                           snapshot's id as 16 hex digits
 *   get_protection_status   in  u64 snapshot   out  u8 (0: unprotected)
 * </pre>
 *
 * @param exists whether the image has such a snapshot
 * @param clones the clones of format 2 that the header knows
 */
public record ParentSnapshot(boolean exists, List<ImageLink> clones) {

  /** Copies the list. */
  public ParentSnapshot {
    clones = List.copyOf(clones);
  }

  /**
   * Reads it; one round trip.
   *
   * @return empty if there is no image of this id
   */
  public static Optional<ParentSnapshot> read(IoContext io, String imageId, long snapshotId) {
    String snapshot = String.format("snapshot_%016x", snapshotId);
    String children = String.format("snap_children_%016x", snapshotId);
    try (ReadOperation read = new ReadOperation().allow(ImageHeader.CLONES_BYTES)) {
      read.assertExists();
      var values = read.omapGetByKeys(List.of(snapshot, children));
      io.operate(ImageHeader.object(imageId), read);
      byte[] clones = values.get().get(children);
      return Optional.of(
          new ParentSnapshot(
              values.get().containsKey(snapshot),
              clones == null ? List.of() : ImageHeader.children(clones)));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /**
   * Whether a snapshot is protected, or was until a moment ago: then it may have clones of format
   * 1, which the header does not know. One round trip.
   *
   * @return false too if there is no such snapshot
   */
  public static boolean isProtected(IoContext io, String imageId, long snapshotId) {
    try (ReadOperation read = new ReadOperation()) {
      var status = RbdClass.call("get_protection_status").u64(snapshotId).addTo(read);
      io.operate(ImageHeader.object(imageId), read);
      return ClassCall.output(status.get()).get(0) != 0;
    } catch (CephException.NotFound e) {
      return false;
    }
  }
}
