package io.cephcsi.bindings.cls;

import java.util.Optional;
import java.util.concurrent.Semaphore;

/**
 * The memory that all object maps of a process take while they are read and compared: a quarter of
 * the heap. How large a map is, an image's owner says; without a common bound a few large images at
 * once would end the process. Whoever takes memory waits for nothing else than the cluster
 * meanwhile, and takes no more: so there is no deadlock. Safe for several threads.
 */
final class MapMemory {
  private static final MapMemory PROCESS = new MapMemory(Runtime.getRuntime().maxMemory() / 4);

  /** What takes no more, in bytes, waits for nobody: as of an image of 800 GiB with snapshots. */
  static final long SMALL = 256 << 10;

  private static final int UNIT = 1 << 10;
  private static final int OBJECTS_IN_BYTE = 4;

  private final int units;
  private final Semaphore free;

  /**
   * @param bytes in all
   */
  MapMemory(long bytes) {
    units = (int) Math.max(1, Math.min(Integer.MAX_VALUE, bytes / UNIT));
    free = new Semaphore(units, true);
  }

  /**
   * Takes memory of the process; waits for it.
   *
   * @param objects of the largest of the maps
   * @param times how many times as much as such a map is taken
   */
  static Held take(long objects, int times) {
    long most = Math.max(0, Math.min(ObjectMap.MOST_OBJECTS, objects)); // larger ones are not read
    return PROCESS.take(times * (most / OBJECTS_IN_BYTE));
  }

  /** As {@link #take(long, int)}; what is more than all there is gets all of it. */
  Held take(long bytes) {
    if (bytes <= SMALL) {
      return new Held(0);
    }
    int wanted = (int) Math.min(units, (bytes + UNIT - 1) / UNIT);
    free.acquireUninterruptibly(wanted);
    return new Held(wanted);
  }

  /**
   * As {@link #take(long)} without waiting; empty when there is not as much, also for all of it.
   */
  Optional<Held> tryTake(long bytes) {
    if (bytes <= SMALL) {
      return Optional.of(new Held(0));
    }
    long wanted = (bytes + UNIT - 1) / UNIT;
    return wanted <= units && free.tryAcquire((int) wanted)
        ? Optional.of(new Held((int) wanted))
        : Optional.empty();
  }

  /** Memory that was taken. */
  final class Held implements AutoCloseable {
    private final int taken;

    private Held(int taken) {
      this.taken = taken;
    }

    /** Gives it back; once. */
    @Override
    public void close() {
      free.release(taken);
    }
  }
}
