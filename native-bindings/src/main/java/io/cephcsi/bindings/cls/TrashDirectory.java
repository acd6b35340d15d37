package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapWalk;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.bindings.rbd.TrashSource;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The images in the trash of a pool and namespace, read from the object that has them. {@code
 * rbd_trash_list} is not called: an entry that is damaged, which whoever may write to the pool can
 * make, has it end the OSD. Here such an entry is left out.
 *
 * <pre>
 *   rbd_trash    omap   id_ID  →  v2,1 (u8 source · string name · time deleted ·
 *                                 time deferred until · u8 state)
 *   time: u32 seconds · u32 nanoseconds
 * </pre>
 *
 * <p>Blocks, one round trip for every 1,000 entries; safe for several threads.
 */
public final class TrashDirectory {
  static final String OBJECT = "rbd_trash";

  /** What the key of an entry begins with. */
  static final String KEY = "id_";

  private static final int HEAD = 11; // versions, length, source, and the length of the name
  private static final int TIME = 8;

  private TrashDirectory() {}

  /** All images but those that are being removed, as {@code rbd_trash_list} gives them. */
  public static List<TrashEntry> list(IoContext io) {
    return list(io, entry -> entry.source() != TrashSource.REMOVING);
  }

  /** The images that are being removed, which {@code rbd_list2} lists beside the others. */
  public static List<TrashEntry> removing(IoContext io) {
    return list(io, entry -> entry.source() == TrashSource.REMOVING);
  }

  private static List<TrashEntry> list(IoContext io, Predicate<TrashEntry> wanted) {
    List<TrashEntry> entries = new ArrayList<>();
    OmapWalk.keys(
        io,
        OBJECT,
        KEY,
        (key, value) ->
            decode(key.substring(KEY.length()), value).filter(wanted).ifPresent(entries::add));
    return entries;
  }

  /** The image that had a name last, of those that are there now. */
  public static Optional<TrashEntry> named(IoContext io, String name) {
    return list(io).stream()
        .filter(entry -> entry.name().equals(name))
        .max(Comparator.comparing(TrashEntry::deletedAt));
  }

  /** Empty if it is not an entry. */
  static Optional<TrashEntry> decode(String id, byte[] encoded) {
    ByteBuffer in = ClassCall.output(encoded);
    if (in.remaining() < HEAD || in.getInt(HEAD - 4) < 0) {
      return Optional.empty();
    }
    int length = in.getInt(HEAD - 4);
    if (in.remaining() - HEAD < length + 2L * TIME) {
      return Optional.empty();
    }
    byte[] name = new byte[length];
    in.position(HEAD).get(name);
    return Optional.of(
        new TrashEntry(
            id,
            new String(name, StandardCharsets.UTF_8),
            TrashSource.of(encoded[HEAD - 5]),
            ClassCall.time(in),
            ClassCall.time(in)));
  }
}
