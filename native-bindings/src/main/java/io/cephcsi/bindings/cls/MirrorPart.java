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
 * @param kind what it is of
 * @param complete of a copy: whether all of it is copied
 * @param orphan whether it is of no primary: a forced promotion begins with one
 */
public record MirrorPart(Kind kind, boolean complete, boolean orphan) {
  private static final long NO_SNAPSHOT = -2;

  /** What a snapshot of mirroring is of. */
  public enum Kind {
    /** The primary. */
    PRIMARY,
    /** The primary when it was demoted. */
    DEMOTED,
    /** A copy of another site's primary. */
    COPY,
    /** A copy of another site's primary when that was demoted. */
    DEMOTED_COPY,
    /** Something newer. */
    OTHER;

    private static Kind of(int state) {
      return switch (state) {
        case 0 -> PRIMARY;
        case 1 -> DEMOTED;
        case 2 -> COPY;
        case 3 -> DEMOTED_COPY;
        default -> OTHER;
      };
    }
  }

  /** Whether it is a copy that is not complete. */
  public boolean half() {
    return (kind == Kind.COPY || kind == Kind.DEMOTED_COPY) && !complete;
  }

  static MirrorPart decode(ClassOutput in) {
    Kind kind = Kind.of(in.u8());
    boolean complete = in.u8() != 0;
    in.list(ClassOutput::string); // the peers
    boolean ofNobody = in.string().isEmpty();
    return new MirrorPart(kind, complete, kind == Kind.COPY && ofNobody && in.u64() == NO_SNAPSHOT);
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
