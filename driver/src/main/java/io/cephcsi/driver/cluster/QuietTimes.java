package io.cephcsi.driver.cluster;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file systems for which a manager gets no command, as its own client of them is blocklisted.
 * It has some clients for each, and uses one until it had no command for 60 s, which it checks each
 * 30 s: so a file system gets none for longer than both together, as the manager would else refuse
 * all commands for as long as they come.
 *
 * <p>Other drivers, which do the same, may send theirs meanwhile, and keep the client in use. So
 * the time is doubled when it was in vain, up to 8 minutes: five drivers that each try once in that
 * time leave such a gap, whenever each does.
 *
 * <p>Not safe for several threads.
 */
final class QuietTimes {
  private static final Logger LOG = LoggerFactory.getLogger(QuietTimes.class);
  private static final Duration UNTIL_CONNECTED_ANEW = Duration.ofSeconds(95);
  private static final Duration LONGEST = Duration.ofMinutes(8);
  private static final int RANDOM_PART = 4;
  private static final int MOST = 100;

  private final LongSupplier nanoTime;
  private final DoubleSupplier random;
  private final Map<String, Quiet> quiet = new LinkedHashMap<>();

  /**
   * @param random at least 0 and less than 1
   */
  QuietTimes(LongSupplier nanoTime, DoubleSupplier random) {
    this.nanoTime = nanoTime;
    this.random = random;
  }

  /**
   * Requires that a file system gets commands.
   *
   * @throws VolumeException UNAVAILABLE if it gets none now
   */
  void requireOver(String fileSystem) {
    Quiet now = quiet.get(fileSystem);
    if (now != null && left(now) > 0) {
      throw new VolumeException(
          Reason.UNAVAILABLE,
          "the manager's client of CephFS was blocklisted; it gets no command for file system "
              + fileSystem
              + " for "
              + (Duration.ofNanos(left(now)).toSeconds() + 1)
              + " s, so that it connects anew");
    }
  }

  /** The client of a file system is blocklisted, or still is. */
  void begin(String fileSystem) {
    quiet.values().removeIf(past -> left(past) < -LONGEST.toNanos());
    Quiet next = after(quiet.get(fileSystem));
    quiet.put(fileSystem, next);
    if (quiet.size() > MOST) {
      quiet.remove(quiet.keySet().iterator().next());
    }
    LOG.warn(
        "the manager's client of file system {} is blocklisted: no command for {} s",
        fileSystem,
        Duration.ofNanos(left(next)).toSeconds());
  }

  private Quiet after(@Nullable Quiet before) {
    if (before == null) {
      return lasting(UNTIL_CONNECTED_ANEW);
    }
    if (left(before) > 0) {
      return usedIn(before); // this command was sent before
    }
    Duration doubled = before.time.multipliedBy(2);
    return lasting(doubled.compareTo(LONGEST) < 0 ? doubled : LONGEST);
  }

  /** Drivers that began at the same time do not stay together. */
  private Quiet lasting(Duration time) {
    double more = random.getAsDouble() * time.toNanos() / RANDOM_PART;
    return new Quiet(time, nanoTime.getAsLong() + time.toNanos() + (long) more);
  }

  private Quiet usedIn(Quiet now) {
    long left = Math.max(left(now), UNTIL_CONNECTED_ANEW.toNanos());
    return new Quiet(now.time, nanoTime.getAsLong() + left);
  }

  /** The client of a file system had a command all the same. */
  void used(String fileSystem) {
    quiet.computeIfPresent(fileSystem, (name, last) -> left(last) > 0 ? usedIn(last) : last);
  }

  /** The client of a file system has carried a command out; one that was quiet is so until then. */
  void worked(String fileSystem) {
    quiet.computeIfPresent(fileSystem, (name, last) -> left(last) > 0 ? last : null);
  }

  private long left(Quiet of) {
    return of.end - nanoTime.getAsLong();
  }

  /**
   * A time without commands.
   *
   * @param time how long it was meant to be, without its random part
   * @param end by nanoTime
   */
  private record Quiet(Duration time, long end) {}
}
