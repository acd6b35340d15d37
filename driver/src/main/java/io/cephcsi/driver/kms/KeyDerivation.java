package io.cephcsi.driver.kms;

import io.cephcsi.driver.cluster.LongStep;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Turns for what makes keys of passphrases by much memory, scrypt and Argon2: 32 MiB each, of a
 * heap of 128. One runs at a time in a process. Safe for several threads.
 */
public final class KeyDerivation {
  private static final Semaphore TURN = new Semaphore(1, true);

  private KeyDerivation() {}

  /**
   * Does the work in its turn, for which it waits.
   *
   * @param deadline for the turn; the work itself is not cut off
   * @throws VolumeException UNAVAILABLE when it does not get its turn in time, or the thread is
   *     interrupted
   */
  public static <T> T inTurn(Deadline deadline, Supplier<T> work) {
    return LongStep.call(() -> whenFree(deadline, work));
  }

  private static <T> T whenFree(Deadline deadline, Supplier<T> work) {
    try {
      if (!TURN.tryAcquire(deadline.left().toNanos(), TimeUnit.NANOSECONDS)) {
        throw new VolumeException(
            Reason.UNAVAILABLE, "too many keys are made of passphrases at the same time");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new VolumeException(Reason.UNAVAILABLE, "the call was interrupted", e);
    }
    try {
      return work.get();
    } finally {
      TURN.release();
    }
  }
}
