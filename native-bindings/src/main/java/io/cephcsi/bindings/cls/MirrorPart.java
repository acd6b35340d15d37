package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.ClassOutput;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.SnapshotId;
import io.cephcsi.bindings.rados.WriteOperation;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.UUID;

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
  private static final byte COPY_STATE = 2;
  private static final int KIND = 3; // of a snapshot
  private static final long NO_SNAPSHOT = -2;
  private static final int INFO_HEADER = 6 + Long.BYTES; // of a structure, and the id
  private static final int STATE = 6 + Integer.BYTES; // of a structure, and the kind of snapshot

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
        case COPY_STATE -> COPY;
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

  /** Has a copy count as complete or not, whatever is copied; one round trip. */
  public static void setComplete(IoContext io, String imageId, long snapshotId, boolean complete) {
    try (WriteOperation write = new WriteOperation()) {
      RbdClass.call("mirror_image_snapshot_set_copy_progress")
          .u64(snapshotId)
          .u8(complete ? 1 : 0)
          .u64(0) // objects that are copied
          .addTo(write);
      io.operate(ImageHeader.object(imageId), write);
    }
  }

  /**
   * Adds an orphan that is not complete, by the call of the object class that librbd would make: a
   * snapshot above all others. It has no content of its own that anybody asks for. The monitors
   * allocate its id; two round trips more.
   *
   * @param io the pool of the image
   * @param header of the image
   * @throws CephException ESTALE if somebody else has taken a snapshot meanwhile
   */
  public static void addIncompleteOrphan(IoContext io, String imageId, ImageHeader header) {
    try (IoContext data = io.cluster().openPool(header.data().poolId(), io.namespace());
        SnapshotId id = SnapshotId.allocate(data);
        WriteOperation write = new WriteOperation()) {
      write.assertExists();
      RbdClass.call("snapshot_add")
          .string(".mirror.non_primary.csi.java." + UUID.randomUUID())
          .u64(id.await())
          .structure(
              1,
              1,
              ClassCall.content()
                  .u32(KIND)
                  .u8(COPY_STATE)
                  .u8(0) // not complete
                  .u32(0) // peers
                  .string("")
                  .u64(NO_SNAPSHOT)
                  .u64(0) // objects that are copied
                  .u32(0)) // snapshots of users
          .addTo(write);
      id.take(); // the answer may be lost
      io.operate(ImageHeader.object(imageId), write);
    }
  }

  /**
   * Has a copy of a demotion that is not complete count as a copy of a primary: the other site
   * takes the former for the state that both have in common. Two round trips.
   *
   * @return false if it has become complete, or has gone, or counts as one already
   * @throws CephException EBADMSG if the header has it in a form that is not known; nothing is
   *     changed then
   */
  public static boolean forgetDemotion(IoContext io, String imageId, long snapshotId) {
    String key = "snapshot_%016x".formatted(snapshotId);
    byte[] info;
    byte[] value;
    try (ReadOperation read = new ReadOperation()) {
      var snapshot = RbdClass.call("snapshot_get").u64(snapshotId).addTo(read);
      var values = read.omapGetByKeys(List.of(key));
      io.operate(ImageHeader.object(imageId), read);
      info = snapshot.get();
      value = values.get().getOrDefault(key, new byte[0]);
    } catch (CephException.NotFound e) {
      return false;
    }
    if (ImageHeader.snapshot(info)
        .mirror()
        .filter(part -> part.half() && part.kind() == Kind.DEMOTED_COPY)
        .isEmpty()) {
      return false;
    }
    int state =
        stateOffset(info, value)
            .orElseThrow(
                () ->
                    new CephException(
                        "rewrite", key, -Errno.EBADMSG.number(), "its form is not known"));
    byte[] rewritten = value.clone();
    rewritten[state] = COPY_STATE;
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      write.omapCompare(key, value);
      write.omapSet(key, rewritten);
      io.operate(ImageHeader.object(imageId), write);
      return true;
    } catch (CephException.Canceled | CephException.NotFound e) {
      return false; // the daemon goes on copying
    }
  }

  /**
   * Where the state stands in what the header stores of a snapshot: it has the same bytes for its
   * kind as the answer of {@code snapshot_get}, once.
   */
  static OptionalInt stateOffset(byte[] info, byte[] stored) {
    int length =
        ClassOutput.decode(
            "snapshot",
            info,
            in ->
                in.structure(
                    content -> {
                      content.u64();
                      return content.length();
                    }));
    byte[] kind = Arrays.copyOfRange(info, INFO_HEADER, INFO_HEADER + length);
    OptionalInt found = OptionalInt.empty();
    for (int at = 0; at + length <= stored.length; at++) {
      if (Arrays.equals(stored, at, at + length, kind, 0, length)) {
        if (found.isPresent()) {
          return OptionalInt.empty();
        }
        found = OptionalInt.of(at + STATE);
      }
    }
    return found;
  }
}
