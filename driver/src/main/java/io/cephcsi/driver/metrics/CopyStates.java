package io.cephcsi.driver.metrics;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/**
 * How far the copies of mirrored volumes are, of those that a caller asked for in the last hour:
 * whoever manages the replication does that all the time. At most 100,000 are remembered. Safe for
 * several threads; does not block.
 */
public final class CopyStates {
  private static final int MOST = 100_000;
  private static final Duration KEPT = Duration.ofHours(1);

  private final Cache<String, State> states;

  private record State(Instant lastSync, String health) {}

  /** None yet. */
  public CopyStates() {
    this(System::nanoTime);
  }

  CopyStates(LongSupplier nanos) {
    states =
        Caffeine.newBuilder()
            .maximumSize(MOST)
            .expireAfterWrite(KEPT)
            .ticker(nanos::getAsLong)
            .build();
  }

  /**
   * Notes what was answered of a volume.
   *
   * @param lastSync which state of the primary its copies have
   * @param health as a word
   */
  public void put(String volumeId, Instant lastSync, String health) {
    states.put(volumeId, new State(lastSync, health));
  }

  /** Forgets a volume that is no primary any more. */
  public void remove(String volumeId) {
    states.invalidate(volumeId);
  }

  /** How old the copy is that is furthest behind; empty while none is known. */
  Optional<Duration> furthestBehind(Instant now) {
    return states.asMap().values().stream()
        .map(State::lastSync)
        .min(Instant::compareTo)
        .map(oldest -> Duration.between(oldest, now))
        .map(behind -> behind.isNegative() ? Duration.ZERO : behind);
  }

  /** How many volumes have copies of each health. */
  Map<String, Integer> byHealth() {
    Map<String, Integer> counts = new TreeMap<>();
    states.asMap().values().forEach(state -> counts.merge(state.health(), 1, Integer::sum));
    return counts;
  }
}
