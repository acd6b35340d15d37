package io.cephcsi.driver.http;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;

/**
 * Until when work has to be done: all calls that it needs, and their attempts and pauses, together.
 * Immutable.
 *
 * @param end as of {@link System#nanoTime()}
 */
public record Deadline(long end) {
  /** One that is so far away. */
  public static Deadline after(Duration time) {
    return new Deadline(System.nanoTime() + time.toNanos());
  }

  /** The earlier of this one and one that is so far away. */
  public Deadline within(Duration time) {
    Deadline near = after(time);
    return near.left().compareTo(left()) < 0 ? near : this;
  }

  /** How long is left; zero when it has passed. */
  public Duration left() {
    return Duration.ofNanos(Math.max(0, end - System.nanoTime()));
  }

  /**
   * Waits, unless the deadline would pass meanwhile.
   *
   * @return whether it waited
   * @throws VolumeException UNAVAILABLE when the thread is interrupted
   */
  public boolean sleep(Duration time) {
    if (left().compareTo(time) <= 0) {
      return false;
    }
    try {
      Thread.sleep(time.toMillis());
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new VolumeException(Reason.UNAVAILABLE, "the call was interrupted", e);
    }
  }
}
