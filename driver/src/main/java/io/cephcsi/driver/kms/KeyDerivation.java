package io.cephcsi.driver.kms;

import io.cephcsi.driver.cluster.LongStep;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Turns for what makes keys of passphrases by much memory, scrypt and Argon2. What drivers make
 * takes 32 MiB, of a heap of 128, and about a second: one such runs at a time in a process. The
 * metadata of a volume may ask for more, up to minutes. One such runs beside it, so that it holds
 * up its like only. Safe for several threads.
 */
public final class KeyDerivation {
  private static final int USUAL_KIB = 32 << 10;
  private static final long USUAL_WORK = 2L << 20; // KiB that are gone over: some seconds
  private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final Semaphore USUAL = new Semaphore(1, true);
  private static final Semaphore COSTLY = new Semaphore(1, true);

  private KeyDerivation() {}

  /**
   * Does the work in its turn, for which it waits.
   *
   * @param memoryKib the memory that it takes
   * @param passes how often it goes over that
   * @param deadline for the turn; the work itself is not cut off
   * @throws VolumeException UNAVAILABLE when it does not get its turn in time, or the thread is
   *     interrupted
   */
  public static <T> T inTurn(int memoryKib, int passes, Deadline deadline, Supplier<T> work) {
    return inTurn(memoryKib, passes, deadline, Optional.empty(), work);
  }

  /**
   * As {@link #inTurn(int, int, Deadline, Supplier)}.
   *
   * @param waiting called often while it waits; what it throws ends that; must not block
   */
  public static <T> T inTurn(
      int memoryKib, int passes, Deadline deadline, Runnable waiting, Supplier<T> work) {
    return inTurn(memoryKib, passes, deadline, Optional.of(waiting), work);
  }

  private static <T> T inTurn(
      int memoryKib, int passes, Deadline deadline, Optional<Runnable> waiting, Supplier<T> work) {
    boolean usual = memoryKib <= USUAL_KIB && (long) memoryKib * passes <= USUAL_WORK;
    return LongStep.call(() -> whenFree(usual ? USUAL : COSTLY, deadline, waiting, work));
  }

  private static <T> T whenFree(
      Semaphore turn, Deadline deadline, Optional<Runnable> waiting, Supplier<T> work) {
    try {
      long left = deadline.left().toNanos();
      // Who asks while it waits goes to the end of the queue each time.
      long each = waiting.isPresent() ? POLL_NANOS : Long.MAX_VALUE;
      while (!turn.tryAcquire(Math.min(left, each), TimeUnit.NANOSECONDS)) {
        waiting.ifPresent(Runnable::run);
        left = deadline.left().toNanos();
        if (left <= 0) {
          throw new VolumeException(
              Reason.UNAVAILABLE, "too many keys are made of passphrases at the same time");
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new VolumeException(Reason.UNAVAILABLE, "the call was interrupted", e);
    }
    try {
      return work.get();
    } finally {
      turn.release();
    }
  }
}
