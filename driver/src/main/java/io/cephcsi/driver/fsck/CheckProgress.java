package io.cephcsi.driver.fsck;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/** How far a check is. Safe for several threads. */
public final class CheckProgress {
  private final AtomicLong done = new AtomicLong();
  private volatile String phase = "";
  private volatile long total;
  private volatile long startedNanos = System.nanoTime();

  /**
   * Begins a phase.
   *
   * @param what is done in it
   * @param of how many things; 0 if that is not known
   */
  public void begin(String what, long of) {
    done.set(0);
    total = of;
    startedNanos = System.nanoTime();
    phase = what;
  }

  /** Counts a thing that is done. */
  public void step() {
    done.incrementAndGet();
  }

  /** What is done now. */
  public String phase() {
    return phase;
  }

  /** How many things of the phase are done. */
  public long done() {
    return done.get();
  }

  /** How many things the phase has; 0 if that is not known. */
  public long total() {
    return total;
  }

  /** How long the phase still takes at its speed until now. */
  public Optional<Duration> remaining() {
    long so = done.get();
    long all = total;
    if (so == 0 || all <= so) {
      return Optional.empty();
    }
    double perThing = (double) (System.nanoTime() - startedNanos) / so;
    return Optional.of(Duration.ofNanos((long) (perThing * (all - so))));
  }
}
