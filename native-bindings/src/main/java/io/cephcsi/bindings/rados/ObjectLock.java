package io.cephcsi.bindings.rados;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import java.time.Duration;
import java.util.Optional;

/**
 * An exclusive advisory lock on an object, which the cluster drops by itself when it is not renewed
 * in time ({@code rados_lock_exclusive}). Safe for several threads; every call blocks.
 */
public final class ObjectLock {
  private static final byte MUST_RENEW = 2;

  private final IoContext io;
  private final String object;
  private final String name;
  private final String cookie;
  private final Duration duration;

  private ObjectLock(IoContext io, String object, String name, String cookie, Duration duration) {
    this.io = io;
    this.object = object;
    this.name = name;
    this.cookie = cookie;
    this.duration = duration;
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
    ObjectLock lock = new ObjectLock(io, object, name, cookie, duration);
    int code = lock.lock(description, (byte) 0);
    if (code == -Errno.EBUSY.number() || code == -Errno.EEXIST.number()) {
      return Optional.empty();
    }
    check(code, "rados_lock_exclusive", lock.toString());
    return Optional.of(lock);
  }

  private int lock(String description, byte flags) {
    long pointer = io.enter();
    try (NativeArena arena = NativeArena.open()) {
      long timeval = arena.longs(new long[] {duration.toSeconds(), 0});
      return LibRados.rados_lock_exclusive(
          pointer,
          arena.cString(object),
          arena.cString(name),
          arena.cString(cookie),
          arena.cString(description),
          timeval,
          flags);
    } finally {
      io.exit();
    }
  }

  /**
   * Starts the duration anew.
   *
   * @return false when the lock is lost: it was not renewed in time, or somebody broke it
   */
  public boolean renew() {
    int code = lock("", MUST_RENEW);
    if (code == -Errno.ENOENT.number() || code == -Errno.EBUSY.number()) {
      return false;
    }
    check(code, "rados_lock_exclusive", toString());
    return true;
  }

  /** Gives the lock back ({@code rados_unlock}); one that is lost is no error. */
  public void release() {
    long pointer = io.enter();
    try (NativeArena arena = NativeArena.open()) {
      check(
          LibRados.rados_unlock(
              pointer, arena.cString(object), arena.cString(name), arena.cString(cookie)),
          "rados_unlock",
          toString());
    } catch (CephException.NotFound e) {
      // it ran out
    } finally {
      io.exit();
    }
  }

  /** Object and name of the lock. */
  @Override
  public String toString() {
    return io.describe(object) + " lock " + name;
  }
}
