package io.cephcsi.bindings.rbd;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Keeps this process from giving back the exclusive lock of an image while it takes a snapshot of
 * the same image. Every open image that may get the lock has one; all of one image share it.
 *
 * <p>A snapshot that is taken through one open image is made by the one that owns the lock. If that
 * one gives the lock back meanwhile, librbd may wait for itself: the release flushes what was
 * written and first wants the header read anew, and who reads the header and finds a new snapshot
 * waits for the flush ({@code PreReleaseRequest}, {@code RefreshRequest::send_flush_aio}; seen with
 * librbd 16). The lock is then held until the process ends, and nothing that needs it goes on.
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
