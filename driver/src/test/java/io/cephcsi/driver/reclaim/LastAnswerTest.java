package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LastAnswerTest {
  private static final Duration AGE = Duration.ofSeconds(20);

  private final AtomicLong nanos = new AtomicLong(-5);
  private final AtomicLong millis = new AtomicLong(1_700_000_000_000L);
  private final LastAnswer answer = new LastAnswer(nanos::get, millis::get);

  private void pass(Duration monotonic, Duration wall) {
    nanos.addAndGet(monotonic.toNanos());
    millis.addAndGet(wall.toMillis());
  }

  @Test
  void eitherClockTellsThatItIsOld() {
    pass(AGE, AGE);
    assertThat(answer.isOlderThan(AGE)).isFalse();
    answer.answered(answer.now());
    pass(Duration.ZERO, Duration.ofHours(2)); // a suspended machine
    assertThat(answer.isOlderThan(AGE)).isTrue();
    answer.answered(answer.now());
    pass(Duration.ofSeconds(21), Duration.ofHours(-1)); // the wall clock was set back
    assertThat(answer.isOlderThan(AGE)).isTrue();
    answer.answered(answer.now());
    assertThat(answer.isOlderThan(AGE)).isFalse();
  }

  @Test
  void anAnswerIsAsOldAsItsQuestion() {
    LastAnswer.Moment asked = answer.now();
    pass(Duration.ofSeconds(21), Duration.ofSeconds(21));
    answer.answered(asked);
    assertThat(answer.isOlderThan(AGE)).isTrue();
    assertThat(TimeUnit.NANOSECONDS.toSeconds(answer.now().nanos() - asked.nanos())).isEqualTo(21);
  }
}
