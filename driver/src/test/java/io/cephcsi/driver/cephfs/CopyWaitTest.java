package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class CopyWaitTest {
  private static CopyWait wait(Semaphore places, Duration longest) {
    return new CopyWait(places, longest, Optional.empty());
  }

  @Test
  void waitsUntilTheCopyHasEnded() {
    Semaphore places = new Semaphore(1);
    AtomicInteger asked = new AtomicInteger();
    assertThat(wait(places, Duration.ofMinutes(1)).until(asked::incrementAndGet, n -> n == 3))
        .contains(3);
    assertThat(asked).hasValue(3);
    assertThat(places.availablePermits()).isEqualTo(1);
  }

  @Test
  void givesUpWhenTheTimeIsOver() {
    Semaphore places = new Semaphore(1);
    assertThat(wait(places, Duration.ofMillis(20)).until(() -> 0, n -> false)).isEmpty();
    assertThat(places.availablePermits()).isEqualTo(1);
  }

  @Test
  void asksNotAtAllWithoutTimeOrPlace() {
    AtomicInteger asked = new AtomicInteger();
    assertThat(wait(new Semaphore(1), Duration.ZERO).until(asked::incrementAndGet, n -> true))
        .isEmpty();
    assertThat(
            wait(new Semaphore(1), Duration.ofSeconds(-1)).until(asked::incrementAndGet, n -> true))
        .isEmpty();
    assertThat(
            wait(new Semaphore(0), Duration.ofMinutes(1)).until(asked::incrementAndGet, n -> true))
        .isEmpty();
    assertThat(CopyWait.NONE.until(asked::incrementAndGet, n -> true)).isEmpty();
    assertThat(asked).hasValue(0);
  }

  @Test
  void anInterruptionEndsIt() {
    Semaphore places = new Semaphore(1);
    Thread.currentThread().interrupt();
    assertThat(wait(places, Duration.ofMinutes(1)).until(() -> 0, n -> false)).isEmpty();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(places.availablePermits()).isEqualTo(1);
  }
}
