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
  private static final Map<Image, ReleaseGuard> GUARDS = new ConcurrentHashMap<>();

  /** Fair: a release waits only for snapshots that were begun before it. */
  private final ReentrantReadWriteLock turns = new ReentrantReadWriteLock(true);

  private final Image image;
  private int users;

  private ReleaseGuard(Image image) {
    this.image = image;
  }

  /** The guard of an image, to be left once by {@link #leave()}. */
  static ReleaseGuard of(long poolId, String imageId) {
    return GUARDS.compute(
        new Image(poolId, imageId),
        (image, known) -> {
          ReleaseGuard guard = known == null ? new ReleaseGuard(image) : known;
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
  static boolean isKnown(long poolId, String imageId) {
    return GUARDS.containsKey(new Image(poolId, imageId));
  }

  /** Ids of two clusters may be equal: then their images share a guard, which does no harm. */
  private record Image(long poolId, String imageId) {}
}
