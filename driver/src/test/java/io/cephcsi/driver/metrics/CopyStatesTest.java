package io.cephcsi.driver.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class CopyStatesTest {
  private static final Instant NOW = Instant.ofEpochSecond(1_000_000);

  private final AtomicLong nanos = new AtomicLong();
  private final CopyStates states = new CopyStates(nanos::get);

  @Test
  void theCopyThatIsFurthestBehindCounts() {
    assertThat(states.furthestBehind(NOW)).isEmpty();
    assertThat(states.byHealth()).isEmpty();
    states.put("a", NOW.minusSeconds(60), "healthy");
    states.put("b", NOW.minusSeconds(3600), "error");
    states.put("c", NOW.minusSeconds(5), "healthy");
    assertThat(states.furthestBehind(NOW)).contains(Duration.ofHours(1));
    assertThat(states.byHealth()).isEqualTo(Map.of("healthy", 2, "error", 1));
    states.put("b", NOW.minusSeconds(1), "healthy");
    assertThat(states.furthestBehind(NOW)).contains(Duration.ofMinutes(1));
    states.remove("a");
    assertThat(states.furthestBehind(NOW)).contains(Duration.ofSeconds(5));
    assertThat(states.byHealth()).isEqualTo(Map.of("healthy", 2));
  }

  @Test
  void aClockThatIsAheadIsNoTimeBehind() {
    states.put("a", NOW.plusSeconds(3), "healthy");
    assertThat(states.furthestBehind(NOW)).contains(Duration.ZERO);
  }

  @Test
  void whatNobodyAsksForAnyMoreIsForgotten() {
    states.put("a", NOW, "healthy");
    nanos.addAndGet(Duration.ofMinutes(59).toNanos());
    states.put("b", NOW, "healthy");
    assertThat(states.byHealth()).isEqualTo(Map.of("healthy", 2));
    nanos.addAndGet(Duration.ofMinutes(2).toNanos());
    assertThat(states.byHealth()).isEqualTo(Map.of("healthy", 1));
  }
}
