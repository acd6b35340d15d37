package io.cephcsi.driver.grpc;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How much memory the requests of a process may take: those that are received, in whole or in part,
 * and not answered yet. A part of it is for small requests only, so that large ones cannot keep a
 * probe out. Thread-safe; does not block.
 */
public final class MemoryBudget {
  /** An eighth of the heap and of the direct memory that the driver is started with. */
  private static final long BYTES = 16 << 20;

  private static final long FOR_LARGE = 12 << 20;
  private static final long SMALL = 16 << 10;

  private final AtomicLong used = new AtomicLong();

  /** Nothing is used yet. */
  public MemoryBudget() {}

  /**
   * Takes some of it.
   *
   * @param held what the request has taken before, in bytes
   * @return whether there was as much; else nothing was taken
   */
  boolean take(long bytes, long held) {
    long limit = held + bytes <= SMALL ? BYTES : FOR_LARGE;
    if (used.addAndGet(bytes) <= limit) {
      return true;
    }
    used.addAndGet(-bytes);
    return false;
  }

  /** Gives back what was taken. */
  void give(long bytes) {
    used.addAndGet(-bytes);
  }

  long used() {
    return used.get();
  }
}
