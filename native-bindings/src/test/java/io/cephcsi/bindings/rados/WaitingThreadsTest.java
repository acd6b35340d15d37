package io.cephcsi.bindings.rados;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class WaitingThreadsTest {
  private static final Duration LONG = Duration.ofSeconds(60);

  private final WaitingThreads threads = new WaitingThreads("waiting");
  private final CountDownLatch end = new CountDownLatch(1);

  private int hang() {
    try {
      end.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return 1;
  }

  @Test
  void anAnswerOrAFailureIsHandedOn() {
    assertThat(threads.call(() -> 7, LONG)).contains(7);
    assertThatThrownBy(
            () ->
                threads.call(
                    () -> {
                      throw new IllegalArgumentException("of this test");
                    },
                    LONG))
        .isInstanceOf(IllegalArgumentException.class);
    Awaitility.await().until(() -> threads.busy() == 0);
  }

  @Test
  void whatHasNoAnswerIsGivenUpAndKeepsItsThreadUntilThen() {
    assertThat(threads.call(this::hang, Duration.ofMillis(10))).isEmpty();
    assertThat(threads.busy()).isEqualTo(1);
    assertThat(threads.call(() -> 7, LONG)).contains(7);
    end.countDown();
    Awaitility.await().until(() -> threads.busy() == 0);
  }

  @Test
  void noMoreThanSomeAreWaitedFor() {
    for (int i = 0; i < WaitingThreads.MOST; i++) {
      assertThat(threads.call(this::hang, Duration.ofNanos(1))).isEmpty();
    }
    AtomicBoolean sent = new AtomicBoolean();
    assertThat(threads.call(() -> sent.getAndSet(true), LONG)).isEmpty();
    assertThat(sent).isFalse();
    end.countDown();
    Awaitility.await().until(() -> threads.busy() == 0);
  }

  @Test
  void aCallerThatIsInterruptedWaitsOn() {
    Thread.currentThread().interrupt();
    try {
      assertThat(threads.call(() -> 7, LONG)).contains(7);
    } finally {
      assertThat(Thread.interrupted()).isTrue();
    }
  }
}
