package io.cephcsi.driver.reclaim;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How long ago a question was put to the cluster that has been answered. While a machine is
 * suspended, the clock of {@link System#nanoTime} can stand still; the wall clock is set forward
 * when it goes on. Whichever went on counts. Safe for several threads; does not block.
 */
final class LastAnswer {
  private final LongSupplier nanoTime;
  private final LongSupplier wallMillis;
  private volatile Moment asked;

  /** A moment by both clocks. */
  record Moment(long nanos, long millis) {}

  /** Begins as if there was an answer now. */
  LastAnswer() {
    this(System::nanoTime, System::currentTimeMillis);
  }

  LastAnswer(LongSupplier nanoTime, LongSupplier wallMillis) {
    this.nanoTime = nanoTime;
    this.wallMillis = wallMillis;
    this.asked = now();
  }

  /** The moment at which a question is put. */
  Moment now() {
    return new Moment(nanoTime.getAsLong(), wallMillis.getAsLong());
  }

  /** The question of that moment is answered; one thread says so. */
  void answered(Moment question) {
    asked = question;
  }

  /** Whether nothing is answered that was asked within a time. */
  boolean isOlderThan(Duration age) {
    Moment last = asked;
    Moment now = now();
    long byNanos = TimeUnit.NANOSECONDS.toMillis(now.nanos() - last.nanos());
    return Math.max(byNanos, now.millis() - last.millis()) > age.toMillis();
  }
}
