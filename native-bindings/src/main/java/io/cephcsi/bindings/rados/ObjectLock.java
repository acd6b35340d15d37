package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeMemory;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * An exclusive advisory lock on an object. The cluster drops it if it is not renewed in time. The
 * calls are those of the object class {@code lock} that {@code rados_lock_exclusive} and {@code
 * rados_unlock} make, so that the same write can also set an attribute of the object. Safe for
 * several threads; every call blocks.
 *
 * <pre>
 *   lock     v1,1 (string name · u8 type · string cookie · string tag · string description ·
 *                  u32 seconds · u32 nanoseconds · u8 flags)
 *   unlock   v1,1 (string name · string cookie)
 * </pre>
 */
public final class ObjectLock {
  private static final String CLASS = "lock";
  private static final int EXCLUSIVE = 1;
  private static final int MUST_RENEW = 2;
  private static final int TEXTS = 4; // tag, clients, cookies, addresses
  private static final int ADDRESSES = 3;

  private final IoContext io;
  private final String object;
  private final String name;
  private final String cookie;
  private final Duration duration;
  private final Optional<String> mark;

  private ObjectLock(
      IoContext io,
      String object,
      String name,
      String cookie,
      Duration duration,
      Optional<String> mark) {
    this.io = io;
    this.object = object;
    this.name = name;
    this.cookie = cookie;
    this.duration = duration;
    this.mark = mark;
  }

  /**
   * Takes a lock unless somebody has it; does not wait for it.
   *
   * @param object the object, created if there is none
   * @param name the lock's name; an object can have several locks
   * @param cookie tells holders of one connection apart
   * @param description for people who list the lock
   * @param duration how long it holds without {@link #renew()}; whole seconds
   * @return empty when somebody has it, with another connection or cookie
   */
  public static Optional<ObjectLock> tryAcquire(
      IoContext io,
      String object,
      String name,
      String cookie,
      String description,
      Duration duration) {
    ObjectLock lock = new ObjectLock(io, object, name, cookie, duration, Optional.empty());
    try (WriteOperation write = new WriteOperation()) {
      return lock.acquire(write, description);
    }
  }

  /**
   * As {@link #tryAcquire}, and in the same write marks the object with an extended attribute,
   * which unlike the lock stays until {@link #release()}: it tells of a holder that died, or that
   * was stopped and may go on.
   *
   * @param mark the attribute's name, of this holder alone, and its cookie
   * @param value what it says
   * @param create whether the object is created if there is none
   * @throws CephException.NotFound if there is no such object, and none is to be created
   */
  public static Optional<ObjectLock> tryAcquireMarked(
      IoContext io,
      String object,
      String name,
      String description,
      Duration duration,
      String mark,
      byte[] value,
      boolean create) {
    ObjectLock lock = new ObjectLock(io, object, name, mark, duration, Optional.of(mark));
    try (WriteOperation write = new WriteOperation()) {
      if (!create) {
        write.assertExists();
      }
      return lock.acquire(write.setXattr(mark, value), description);
    }
  }

  /**
   * Who holds a lock, of whatever kind ({@code rados_list_lockers}); one round trip.
   *
   * @return their addresses, in the form that blocklisting takes
   * @throws CephException.NotFound if there is no such object
   */
  public static List<String> holders(IoContext io, String object, String name) {
    return list(io, object, name).stream().map(Holder::address).toList();
  }

  private static List<Holder> list(IoContext io, String object, String name) {
    return io.use(
        (pointer, arena) ->
            GrowingBuffer.read(
                TEXTS,
                512,
                "rados_list_lockers",
                io.describe(object) + " lock " + name,
                (texts, size, cell) -> listLockers(pointer, object, name, texts, size),
                ObjectLock::holders));
  }

  private static List<Holder> holders(long texts, int count, long size) {
    List<String> clients = NativeMemory.cStrings(texts + size, size);
    List<String> cookies = NativeMemory.cStrings(texts + 2 * size, size);
    List<String> addresses = NativeMemory.cStrings(texts + ADDRESSES * size, size);
    return IntStream.range(0, count)
        .mapToObj(i -> new Holder(clients.get(i), cookies.get(i), addresses.get(i)))
        .toList();
  }

  private static int listLockers(long io, String object, String name, long texts, long size) {
    try (NativeArena arena = NativeArena.open()) {
      long[] lengths = new long[TEXTS];
      for (int i = 0; i < TEXTS; i++) {
        lengths[i] = arena.cell(size);
      }
      return (int)
          LibRados.rados_list_lockers(
              io,
              arena.cString(object),
              arena.cString(name),
              arena.cell(0),
              texts,
              lengths[0],
              texts + size,
              lengths[1],
              texts + 2 * size,
              lengths[2],
              texts + ADDRESSES * size,
              lengths[ADDRESSES]);
    }
  }

  /**
   * Takes a lock away from holders that are dead ({@code rados_list_lockers}, {@code
   * rados_break_lock}); one round trip, and one more for each.
   *
   * @param isDead says of an address, in the form that blocklisting takes, whether its client is
   *     dead and blocklisted, so that it can do nothing any more that the lock allows
   * @return whether one was taken away; false too if there is no such object
   */
  public static boolean breakDead(
      IoContext io, String object, String name, Predicate<String> isDead) {
    List<Holder> dead;
    try {
      dead = list(io, object, name).stream().filter(h -> isDead.test(h.address())).toList();
    } catch (CephException.NotFound e) {
      return false;
    }
    boolean broken = false;
    for (Holder holder : dead) {
      broken |= holder.breakLock(io, object, name);
    }
    return broken;
  }

  /** A holder of a lock. */
  private record Holder(String client, String cookie, String address) {
    /** False if it does not hold it any more. */
    boolean breakLock(IoContext io, String object, String name) {
      try {
        io.call(
            "rados_break_lock",
            io.describe(object) + " lock " + name,
            (pointer, arena) ->
                LibRados.rados_break_lock(
                    pointer,
                    arena.cString(object),
                    arena.cString(name),
                    arena.cString(client),
                    arena.cString(cookie)));
        return true;
      } catch (CephException.NotFound e) {
        return false;
      }
    }
  }

  private Optional<ObjectLock> acquire(WriteOperation write, String description) {
    try {
      lock(write, description, 0);
      return Optional.of(this);
    } catch (CephException.Busy | CephException.AlreadyExists e) {
      return Optional.empty();
    }
  }

  private void lock(WriteOperation write, String description, int flags) {
    ClassCall content =
        ClassCall.content()
            .string(name)
            .u8(EXCLUSIVE)
            .string(cookie)
            .string("") // tag
            .string(description)
            .u32(Math.toIntExact(duration.toSeconds()))
            .u32(0)
            .u8(flags);
    ClassCall.of(CLASS, "lock").structure(1, 1, content).addTo(write);
    io.operate(object, write);
  }

  /**
   * Starts the duration anew.
   *
   * @return false when the lock is lost: it was not renewed in time, or somebody broke it
   */
  public boolean renew() {
    try (WriteOperation write = new WriteOperation()) {
      lock(write, "", MUST_RENEW);
      return true;
    } catch (CephException.NotFound | CephException.Busy e) {
      return false;
    }
  }

  /** Gives the lock back and removes its mark; a lock that is lost is no error. */
  public void release() {
    ClassCall content = ClassCall.content().string(name).string(cookie);
    try (WriteOperation write = new WriteOperation()) {
      ClassCall.of(CLASS, "unlock").structure(1, 1, content).addTo(write);
      mark.ifPresent(write::removeXattr);
      io.operate(object, write);
    } catch (CephException.NotFound e) {
      mark.ifPresent(this::removeMark); // the lock ran out
    }
  }

  private void removeMark(String attribute) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(object, write.assertExists().removeXattr(attribute));
    } catch (CephException.NotFound e) {
      // the object is gone
    }
  }

  /** The id of the cluster that the object is in; no round trip. */
  public String fsid() {
    return io.cluster().fsid();
  }

  /** Object and name of the lock. */
  @Override
  public String toString() {
    return io.describe(object) + " lock " + name;
  }
}
