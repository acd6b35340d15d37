package io.cephcsi.driver.node.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class KeyMemoryTest {
  private static final int MIB = 1 << 10; // in KiB
  private static final Duration LONG = Duration.ofMinutes(5);

  private static KeyMemory ofMib(int mib, Duration patience) {
    return new KeyMemory((long) mib << 20, patience);
  }

  private static void assertRefused(KeyMemory memory, int kib) {
    assertThatThrownBy(() -> memory.during(kib, () -> "made"))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE));
  }

  @Test
  void whatDriversFormatWithWaitsForNothing() {
    KeyMemory memory = ofMib(100, Duration.ZERO);
    String made = memory.during(100 * MIB, () -> memory.during(32 * MIB, () -> "made"));
    assertThat(made).isEqualTo("made");
  }

  @Test
  void otherThingsTogetherHaveNoMoreThanAll() {
    KeyMemory memory = ofMib(100, Duration.ZERO);
    memory.during(
        60 * MIB,
        () -> {
          assertRefused(memory, 41 * MIB);
          return memory.during(
              40 * MIB,
              () -> {
                assertRefused(memory, 33 * MIB);
                return "made";
              });
        });
    assertThat(memory.<String>during(100 * MIB, () -> "made")).isEqualTo("made");
  }

  @Test
  void whatIsMoreThanAllRunsAlone() {
    KeyMemory memory = ofMib(100, Duration.ZERO);
    memory.during(
        1024 * MIB,
        () -> {
          assertRefused(memory, 33 * MIB);
          return "made";
        });
    memory.during(
        33 * MIB,
        () -> {
          assertRefused(memory, 1024 * MIB);
          return "made";
        });
  }

  @Test
  void memoryIsGivenBackWhateverHappens() {
    KeyMemory memory = ofMib(100, Duration.ZERO);
    assertThatThrownBy(
            () ->
                memory.during(
                    100 * MIB,
                    () -> {
                      throw new IllegalStateException("failed");
                    }))
        .isInstanceOf(IllegalStateException.class);
    assertThat(memory.<String>during(100 * MIB, () -> "made")).isEqualTo("made");
  }

  @Test
  void whoWaitsGetsItsPart() throws Exception {
    KeyMemory memory = ofMib(100, LONG);
    AtomicInteger running = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<Integer>> all = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        all.add(
            threads.submit(
                () ->
                    memory.during(
                        50 * MIB,
                        () -> {
                          most.accumulateAndGet(running.incrementAndGet(), Math::max);
                          Thread.onSpinWait();
                          return running.decrementAndGet();
                        })));
      }
      for (Future<Integer> each : all) {
        assertThat(each.get()).isNotNegative();
      }
    } finally {
      threads.shutdownNow();
    }
    assertThat(most.get()).isBetween(1, 2);
  }

  /** The last of many does not wait, whatever its patience. */
  @Test
  void noMoreWaitThanAFew() throws Exception {
    KeyMemory memory = ofMib(100, LONG);
    CountDownLatch taken = new CountDownLatch(1);
    CountDownLatch refused = new CountDownLatch(1);
    ExecutorService threads = Executors.newFixedThreadPool(32);
    try {
      threads.execute(
          () ->
              memory.during(
                  100 * MIB,
                  () -> {
                    taken.countDown();
                    return await(refused);
                  }));
      taken.await();
      for (int i = 0; i < 31; i++) {
        threads.execute(() -> tellWhenRefused(memory, refused));
      }
      refused.await();
    } finally {
      threads.shutdownNow();
    }
  }

  private static void tellWhenRefused(KeyMemory memory, CountDownLatch refused) {
    try {
      memory.during(100 * MIB, () -> "made");
    } catch (VolumeException e) {
      refused.countDown();
    }
  }

  private static boolean await(CountDownLatch latch) {
    try {
      latch.await();
      return true;
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void theNodeHasMemory() {
    assertThat(KeyMemory.OF_NODE.<String>during(1024 * MIB, () -> "made")).isEqualTo("made");
  }
}
