package io.cephcsi.driver.node.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

/** How long a trim waits for its discards; each look takes a tenth of a second here. */
class DiscardWaitTest {
  private static final long LOOK = Duration.ofMillis(100).toNanos();

  private final AtomicLong now = new AtomicLong();
  private int looks;

  /** Waits with counters that depend on the number of the look, and gives the time. */
  private Duration waited(IntFunction<String> counters, int stopAt) {
    new DiscardWait(() -> counters.apply(looks++), () -> now.getAndAdd(LOOK))
        .run(() -> looks >= stopAt);
    return Duration.ofNanos(now.get());
  }

  private static String stat(long reads, long writes, long inFlight, long discards) {
    return "  %d 0 0 0 %d 0 0 0 %d 0 0 %d 0 0 0 0 0\n".formatted(reads, writes, inFlight, discards);
  }

  @Test
  void nothingUnderWayIsNotWaitedFor() {
    assertThat(waited(look -> stat(5, 5, 0, 7), 1000)).isLessThan(Duration.ofSeconds(1));
    assertThat(looks).isEqualTo(1);
  }

  @Test
  void discardsThatEndAreWaitedFor() {
    waited(look -> stat(5, 5, look < 50 ? 1 : 0, look), 1000);
    assertThat(looks).isEqualTo(51);
  }

  @Test
  void requestsOfOthersAreNot() {
    assertThat(waited(look -> stat(5 + look, 5, 3, 7), 1000))
        .isBetween(Duration.ofSeconds(1), Duration.ofSeconds(2));
  }

  @Test
  void aClusterThatDoesNotAnswerIsGivenMoreTime() {
    assertThat(waited(look -> stat(5, 5, 3, 7), 1000))
        .isBetween(Duration.ofSeconds(10), Duration.ofSeconds(11));
  }

  @Test
  void othersThatDiscardWithoutEndHoldNobody() {
    assertThat(waited(look -> stat(5, 5, 3, look), 10_000))
        .isBetween(Duration.ofSeconds(60), Duration.ofSeconds(61));
  }

  @Test
  void itCanBeStopped() {
    waited(look -> stat(5, 5, 3, look), 4);
    assertThat(looks).isEqualTo(4);
  }
}
