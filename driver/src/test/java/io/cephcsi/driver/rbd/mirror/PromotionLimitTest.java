package io.cephcsi.driver.rbd.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.ReturnCode;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

class PromotionLimitTest {
  private static final Duration SOON = Duration.ofMillis(10);
  private static final Duration NEVER = Duration.ofDays(1);

  private final AtomicInteger attempts = new AtomicInteger();

  /** An attempt that fails as told by its number; does not fail on null. */
  private PromotionLimit limit(Duration longest, IntFunction<RuntimeException> failure) {
    return new PromotionLimit("v", () -> true, () -> attempt(failure), longest, SOON);
  }

  private void attempt(IntFunction<RuntimeException> failure) {
    RuntimeException e = failure.apply(attempts.incrementAndGet());
    if (e.getMessage() != null) {
      throw e;
    }
  }

  private static CephException timedOut() {
    return ReturnCode.exception(-110, "osd blocklist", "", "");
  }

  private void assertAttempts(int count) throws InterruptedException {
    await().until(() -> attempts.get() >= count);
    Thread.sleep(10 * SOON.toMillis());
    assertThat(attempts).hasValue(count);
  }

  @Test
  void monitorsThatDoNotAnswerAreAskedAgain() throws InterruptedException {
    try (PromotionLimit limit =
        limit(SOON, attempt -> attempt < 4 ? timedOut() : new RuntimeException())) {
      assertThat(limit).isNotNull();
      assertAttempts(4);
    }
  }

  @Test
  void whoMayNotTriesOnce() throws InterruptedException {
    try (PromotionLimit limit =
        limit(SOON, attempt -> ReturnCode.exception(-13, "osd blocklist", "", ""))) {
      assertThat(limit).isNotNull();
      assertAttempts(1);
    }
  }

  @Test
  void aPromotionThatWorksGetsMoreTime() throws InterruptedException {
    AtomicBoolean waits = new AtomicBoolean();
    try (PromotionLimit limit =
        new PromotionLimit(
            "v", waits::get, attempts::incrementAndGet, SOON.multipliedBy(10), SOON)) {
      Thread.sleep(SOON.multipliedBy(30).toMillis());
      assertThat(attempts).hasValue(0);
      assertThat(limit.isOver()).isFalse();
      waits.set(true);
      assertAttempts(1);
      assertThat(limit.isOver()).isTrue();
    }
  }

  @Test
  void aPromotionDoesNotWorkForEver() throws InterruptedException {
    try (PromotionLimit limit =
        new PromotionLimit("v", () -> false, attempts::incrementAndGet, SOON, SOON)) {
      assertThat(limit).isNotNull();
      assertAttempts(1);
    }
  }

  @Test
  void aPromotionThatHasEndedIsLeftAlone() throws InterruptedException {
    PromotionLimit limit = limit(SOON, attempt -> timedOut());
    await().until(() -> attempts.get() > 0);
    limit.close();
    Thread.sleep(10 * SOON.toMillis());
    int count = attempts.get();
    Thread.sleep(10 * SOON.toMillis());
    assertThat(attempts).hasValue(count);
    limit(NEVER, attempt -> timedOut()).close();
    assertThat(attempts).hasValue(count);
  }
}
