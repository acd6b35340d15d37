package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class RenewalsTest {
  private static final Duration OFTEN = Duration.ofMillis(10);

  private final Renewals renewals = new Renewals();

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Its locks would run out, and others could take them. */
  @Test
  void aClusterThatHangsKeepsNoOtherFromRenewal() {
    CountDownLatch end = new CountDownLatch(1);
    CountDownLatch hanging = new CountDownLatch(4);
    CountDownLatch renewed = new CountDownLatch(3);
    AtomicInteger twice = new AtomicInteger();
    List<Renewals.Renewal> all = new ArrayList<>();
    try {
      for (int i = 0; i < 8; i++) {
        AtomicInteger underWay = new AtomicInteger();
        all.add(
            renewals.every(
                OFTEN,
                "hangs",
                () -> {
                  twice.addAndGet(underWay.getAndIncrement());
                  hanging.countDown();
                  await(end);
                }));
      }
      await(hanging);
      all.add(renewals.every(OFTEN, "answers", renewed::countDown));
      await(renewed);
      assertThat(twice).hasValue(0);
    } finally {
      all.forEach(Renewals.Renewal::close);
      end.countDown();
    }
  }

  @Test
  void workThatFailsIsDoneAgain() {
    CountDownLatch done = new CountDownLatch(3);
    Renewals.Renewal renewal =
        renewals.every(
            OFTEN,
            "fails",
            () -> {
              done.countDown();
              throw new IllegalStateException("of this test");
            });
    await(done);
    renewal.close();
  }
}
