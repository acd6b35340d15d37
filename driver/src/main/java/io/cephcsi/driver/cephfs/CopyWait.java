package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.operation.Operation;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * How long one CreateVolume waits for its copy, which the manager makes meanwhile, before it
 * answers how far that is.
 *
 * @param places bounds how many wait at once, as each takes a thread of its cluster's calls; shared
 * @param longest how long; zero or less for not at all
 * @param operation the call, which is told what it waits for; empty for none
 */
public record CopyWait(Semaphore places, Duration longest, Optional<Operation> operation) {
  /** How many calls may wait at once: half of the threads that a cluster's calls have. */
  public static final int PLACES = 8;

  /** Waits for nothing. */
  public static final CopyWait NONE =
      new CopyWait(new Semaphore(0), Duration.ZERO, Optional.empty());

  private static final long FIRST_PAUSE_MILLIS = 50;
  private static final long LONGEST_PAUSE_MILLIS = 1000;

  /**
   * Asks again and again how far a copy is, first often and then once a second, until it has ended,
   * or the time is over, or the operation is cancelled.
   *
   * @param ended whether an answer says so
   * @return that answer; empty if the copy has not ended
   */
  <T> Optional<T> until(Supplier<T> ask, Predicate<T> ended) {
    if (longest.isNegative() || longest.isZero() || !places.tryAcquire()) {
      return Optional.empty();
    }
    try {
      operation.ifPresent(call -> call.phase("waiting for the copy"));
      return poll(ask, ended);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    } finally {
      places.release();
    }
  }

  private <T> Optional<T> poll(Supplier<T> ask, Predicate<T> ended) throws InterruptedException {
    long end = System.nanoTime() + longest.toNanos();
    long pause = FIRST_PAUSE_MILLIS;
    while (true) {
      long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
      if (left <= 0 || operation.filter(Operation::isCancelled).isPresent()) {
        return Optional.empty();
      }
      TimeUnit.MILLISECONDS.sleep(Math.min(pause, left));
      T answer = ask.get();
      if (ended.test(answer)) {
        return Optional.of(answer);
      }
      pause = Math.min(pause * 3 / 2, LONGEST_PAUSE_MILLIS);
    }
  }
}
