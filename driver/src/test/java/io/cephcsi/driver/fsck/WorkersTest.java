package io.cephcsi.driver.fsck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class WorkersTest {
  private static CheckSettings settings(int concurrency, int rate) {
    return new CheckSettings(concurrency, rate, Duration.ZERO, Duration.ZERO, Duration.ZERO, false);
  }

  @Test
  void eachValueIsWorkedOnOnceAndNoMoreThanSoManyAtOnce() {
    AtomicInteger running = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    Set<Integer> done = ConcurrentHashMap.newKeySet();
    CyclicBarrier together = new CyclicBarrier(4);
    try (Workers workers = new Workers(settings(4, 0))) {
      workers.each(
          IntStream.range(0, 400).iterator(),
          value -> {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            try {
              together.await();
            } catch (Exception e) {
              throw new IllegalStateException(e);
            }
            assertThat(done.add(value)).isTrue();
            running.decrementAndGet();
          });
    }
    assertThat(done).hasSize(400);
    assertThat(most).hasValue(4);
  }

  /** It may take longer on a busy machine, and never less. */
  @Test
  void noMoreThanSoManyTurnsAreBegunInASecond() {
    try (Workers workers = new Workers(settings(4, 200))) {
      long start = System.nanoTime();
      workers.each(IntStream.range(0, 21).iterator(), value -> workers.turn());
      assertThat(Duration.ofNanos(System.nanoTime() - start))
          .isGreaterThanOrEqualTo(Duration.ofMillis(100));
    }
  }

  @Test
  void theFirstFailureEndsTheWork() {
    AtomicInteger begun = new AtomicInteger();
    Iterator<Integer> endless = IntStream.iterate(0, i -> i + 1).iterator();
    try (Workers workers = new Workers(settings(3, 0))) {
      assertThatThrownBy(
              () ->
                  workers.each(
                      endless,
                      value -> {
                        if (begun.incrementAndGet() == 100) {
                          throw new IllegalStateException("no answer");
                        }
                      }))
          .hasMessage("no answer");
      workers.each(IntStream.range(0, 10).iterator(), value -> begun.incrementAndGet());
    }
    assertThat(begun.get()).isGreaterThanOrEqualTo(110);
  }
}
