package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.rados.ClassOutput;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.WriteOperation;

/**
 * What the header of an image records of a snapshot of mirroring.
 *
 * <pre>
 *   u8 state · u8 complete · u32 n · n × string peer · string primary's mirror uuid · u64 its
 *   snapshot · ...
 * </pre>
 *
 * @param copy whether it is a copy of a primary's, which was not demoted
 * @param complete whether all of it is copied
 * @param orphan whether it is of no primary: a forced promotion begins with one
 */
public record MirrorPart(boolean copy, boolean complete, boolean orphan) {
  private static final int NON_PRIMARY = 2;
  private static final long NO_SNAPSHOT = -2;

  static MirrorPart decode(ClassOutput in) {
    boolean copy = in.u8() == NON_PRIMARY;
    boolean complete = in.u8() != 0;
    in.list(ClassOutput::string); // the peers
    boolean ofNobody = in.string().isEmpty();
    return new MirrorPart(copy, complete, copy && ofNobody && in.u64() == NO_SNAPSHOT);
  }

  /** Has a copy count as one that is not complete; one round trip. */
  public static void setIncomplete(IoContext io, String imageId, long snapshotId) {
    try (WriteOperation write = new WriteOperation()) {
      RbdClass.call("mirror_image_snapshot_set_copy_progress")
          .u64(snapshotId)
          .u8(0)
          .u64(0) // objects that are copied
          .addTo(write);
      io.operate(ImageHeader.object(imageId), write);
    }
  }
}
