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
    assertThat(wait(places, Duration.ofMinutes(1)).until(() -> asked.incrementAndGet() == 3))
        .isTrue();
    assertThat(asked).hasValue(3);
    assertThat(places.availablePermits()).isEqualTo(1);
  }

  @Test
  void givesUpWhenTheTimeIsOver() {
    Semaphore places = new Semaphore(1);
    assertThat(wait(places, Duration.ofMillis(20)).until(() -> false)).isFalse();
    assertThat(places.availablePermits()).isEqualTo(1);
  }

  @Test
  void asksNotAtAllWithoutTimeOrPlace() {
    AtomicInteger asked = new AtomicInteger();
    assertThat(wait(new Semaphore(1), Duration.ZERO).until(() -> asked.incrementAndGet() > 0))
        .isFalse();
    assertThat(
            wait(new Semaphore(1), Duration.ofSeconds(-1)).until(() -> asked.incrementAndGet() > 0))
        .isFalse();
    assertThat(
            wait(new Semaphore(0), Duration.ofMinutes(1)).until(() -> asked.incrementAndGet() > 0))
        .isFalse();
    assertThat(CopyWait.NONE.until(() -> asked.incrementAndGet() > 0)).isFalse();
    assertThat(asked).hasValue(0);
  }

  @Test
  void anInterruptionEndsIt() {
    Semaphore places = new Semaphore(1);
    Thread.currentThread().interrupt();
    assertThat(wait(places, Duration.ofMinutes(1)).until(() -> false)).isFalse();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(places.availablePermits()).isEqualTo(1);
  }
}
