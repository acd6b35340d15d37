package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapWalk;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.bindings.rbd.TrashSource;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Marks an image in the trash that {@link TrashMove} moved there: an omap key beside the trash
 * entry, written together with it, with the time of the entry to the nanosecond. If the image is
 * restored and moved to the trash again by other means, the entry has another time and the mark
 * does not fit. librbd and the manager neither read nor write such keys.
 *
 * <pre>
 *   rbd_trash    omap   csi.java.deleted_ID  →  u8 1 · time from · time until
 *   time: u32 seconds · u32 nanoseconds
 * </pre>
 *
 * <p>When librbd moves the image, it chooses the time itself. Then the mark has a range of times
 * before the move, and the exact time after it. All methods block, take one round trip unless they
 * say otherwise, and are safe for several threads.
 */
public final class TrashMark {
  static final String TRASH = TrashDirectory.OBJECT;

  private static final String ENTRY = TrashDirectory.KEY;
  private static final String MARK = "csi.java.deleted_";
  private static final int VERSION = 1;
  private static final int BYTES = 17;
  private static final Duration LONGEST_MOVE = Duration.ofMinutes(1);

  private TrashMark() {}

  /** Makes a mark a part of the write that makes the entry. */
  static void addTo(WriteOperation write, String id, Instant from, Instant until) {
    write.omapSet(MARK + id, mark(from, until));
  }

  private static byte[] mark(Instant from, Instant until) {
    return ClassCall.content().u8(VERSION).time(from).time(until).input();
  }

  private static void write(IoContext io, String id, Instant from, Instant until) {
    try (WriteOperation write = new WriteOperation()) {
      addTo(write, id, from, until);
      io.operate(TRASH, write);
    }
  }

  /**
   * Marks an image that librbd is going to move at once; two round trips. One that is in the trash
   * by a move that was cut off keeps its mark: librbd ends that move, and leaves its time.
   *
   * @return for {@link #withdraw}
   */
  static Instant announce(IoContext io, String id) {
    Instant now = Instant.now();
    if (find(io, id).isEmpty()) {
      write(io, id, now, now.plus(LONGEST_MOVE));
    }
    return now;
  }

  /**
   * Takes the mark of an image back that librbd did not move: whoever moves it within the time of
   * the mark would seem to be us. Not that of another process, nor of an image that is in the
   * trash; two round trips.
   */
  static void withdraw(IoContext io, String id, Instant announced) {
    if (find(io, id).isPresent()) {
      return;
    }
    try (WriteOperation write = new WriteOperation()) {
      write.omapCompare(MARK + id, mark(announced, announced.plus(LONGEST_MOVE)));
      io.operate(TRASH, write.omapRemove(List.of(MARK + id)));
    } catch (CephException.Canceled | CephException.NotFound e) {
      // there is none any more, or another process has written one
    }
  }

  /**
   * Marks an image that was announced, and that librbd has moved, by the time of its entry; two
   * round trips. That may be later than announced: librbd takes the time when it has the lock.
   */
  static void confirm(IoContext io, String id) {
    entry(io, id).ifPresent(entry -> write(io, id, entry.deletedAt(), entry.deletedAt()));
  }

  /**
   * Whether an image was announced, and not confirmed: librbd may be moving it to the trash for a
   * driver, or a driver died over that.
   */
  public static boolean isAnnounced(IoContext io, String id) {
    return Optional.ofNullable(read(io, List.of(MARK + id)).get(MARK + id))
        .flatMap(Times::decode)
        .filter(times -> times.from.isBefore(times.until))
        .isPresent();
  }

  /**
   * An image in the trash that is marked.
   *
   * @param id the image's id
   * @return empty if it is not in the trash, or was put there by others
   */
  public static Optional<TrashEntry> find(IoContext io, String id) {
    Map<String, byte[]> found = read(io, List.of(ENTRY + id, MARK + id));
    byte[] entry = found.get(ENTRY + id);
    byte[] mark = found.get(MARK + id);
    return entry == null || mark == null
        ? Optional.empty()
        : TrashDirectory.decode(id, entry)
            .filter(e -> Times.decode(mark).filter(times -> times.match(e)).isPresent());
  }

  /** Whether there is a mark of an image, be it of an entry that is no more. */
  public static boolean exists(IoContext io, String id) {
    return !read(io, List.of(MARK + id)).isEmpty();
  }

  /** The ids of all images with a mark; one round trip for every 1,000. */
  public static Set<String> all(IoContext io) {
    return ids(io, MARK);
  }

  /** The ids of images with a mark that are not in the trash any more; as many round trips. */
  public static Set<String> withoutEntry(IoContext io) {
    Set<String> ids = all(io); // asked first: what is moved meanwhile has no entry that is missed
    if (!ids.isEmpty()) {
      ids.removeAll(ids(io, ENTRY));
    }
    return ids;
  }

  /** An entry of the trash, by whomever; one round trip, empty also for one that is damaged. */
  public static Optional<TrashEntry> entry(IoContext io, String id) {
    return Optional.ofNullable(read(io, List.of(ENTRY + id)).get(ENTRY + id))
        .flatMap(stored -> TrashDirectory.decode(id, stored));
  }

  /** Whether an image is in the trash, even if the entry is damaged; one round trip. */
  public static boolean isInTrash(IoContext io, String id) {
    return !read(io, List.of(ENTRY + id)).isEmpty();
  }

  private static Set<String> ids(IoContext io, String prefix) {
    Set<String> ids = new TreeSet<>();
    OmapWalk.keys(io, TRASH, prefix, (key, value) -> ids.add(key.substring(prefix.length())));
    return ids;
  }

  /** Removes marks; those that are absent do not matter. */
  public static void remove(IoContext io, Collection<String> ids) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().omapRemove(ids.stream().map(id -> MARK + id).toList());
      io.operate(TRASH, write);
    } catch (CephException.NotFound e) {
      // nor is there a trash
    }
  }

  private static Map<String, byte[]> read(IoContext io, List<String> keys) {
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetSmallByKeys(keys); // as damage: an empty one is no entry
      io.operate(TRASH, read);
      return values.get();
    } catch (CephException.NotFound e) {
      return Map.of();
    }
  }

  /** The times of a mark. */
  private record Times(Instant from, Instant until) {
    /** Empty if it is not a mark. */
    static Optional<Times> decode(byte[] mark) {
      if (mark.length != BYTES || mark[0] != VERSION) {
        return Optional.empty();
      }
      ByteBuffer in = ClassCall.output(mark).position(1);
      return Optional.of(new Times(ClassCall.time(in), ClassCall.time(in)));
    }

    boolean match(TrashEntry entry) {
      return entry.source() == TrashSource.USER
          && !entry.deletedAt().isBefore(from)
          && !entry.deletedAt().isAfter(until);
    }
  }
}
