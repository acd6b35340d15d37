package io.cephcsi.bindings.rbd;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Prevents that this process releases the exclusive lock of an image while it takes a snapshot of
 * the same image. Every open image that may own the lock has a guard; all open images of one image
 * share it.
 *
 * <p>The client that owns the lock takes the snapshot, whichever open image requested it. If the
 * owner releases the lock at the same time, librbd can deadlock: the release flushes written data,
 * which first refreshes the header; the refresh finds a new snapshot and waits for the flush
 * ({@code PreReleaseRequest}, {@code RefreshRequest::send_flush_aio}; seen with librbd 16). The
 * lock is then held until the process ends, and all that needs it waits.
 *
 * <p>Safe for several threads.
 */
final class ReleaseGuard {
  private static final Map<OwnerCalls.Place, ReleaseGuard> GUARDS = new ConcurrentHashMap<>();

  /** Fair: a release waits only for snapshots that were begun before it. */
  private final ReentrantReadWriteLock turns = new ReentrantReadWriteLock(true);

  private final OwnerCalls.Place image;
  private int users;

  private ReleaseGuard(OwnerCalls.Place image) {
    this.image = image;
  }

  /** The guard of an image, to be left once by {@link #leave()}. */
  static ReleaseGuard of(OwnerCalls.Place image) {
    return GUARDS.compute(
        image,
        (key, known) -> {
          ReleaseGuard guard = known == null ? new ReleaseGuard(key) : known;
          guard.users++;
          return guard;
        });
  }

  /** Gives the guard back when the open image is closed. */
  void leave() {
    GUARDS.compute(image, (key, guard) -> --users == 0 ? null : guard);
  }

  /** Runs what takes a snapshot; several at once. */
  void whileOwned(Runnable snapshot) {
    turns.readLock().lock();
    try {
      snapshot.run();
    } finally {
      turns.readLock().unlock();
    }
  }

  /** Runs a release of the lock while no snapshot is being taken. */
  void alone(Runnable release) {
    turns.writeLock().lock();
    try {
      release.run();
    } finally {
      turns.writeLock().unlock();
    }
  }

  /** Whether an open image of this process has the guard of this image. */
  static boolean isKnown(OwnerCalls.Place image) {
    return GUARDS.containsKey(image);
  }
}
