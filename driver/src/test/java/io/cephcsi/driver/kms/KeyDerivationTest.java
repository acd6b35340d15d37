package io.cephcsi.driver.kms;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class KeyDerivationTest {
  private static final int MIB = 1 << 10;
  private static final Deadline AMPLE = Deadline.after(Duration.ofSeconds(50));

  private static Deadline soon() {
    return Deadline.after(Duration.ofMillis(100));
  }

  /** Keeps a turn until the work beside it is done. */
  private static void beside(int memoryKib, int passes, Runnable work) throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    Thread first =
        new Thread(
            () ->
                KeyDerivation.inTurn(
                    memoryKib,
                    passes,
                    AMPLE,
                    () -> {
                      begun.countDown();
                      return await(end);
                    }));
    first.start();
    try {
      assertThat(begun.await(20, TimeUnit.SECONDS)).isTrue();
      work.run();
    } finally {
      end.countDown();
      first.join();
    }
  }

  private static boolean await(CountDownLatch latch) {
    try {
      return latch.await(40, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static void assertWaits(int memoryKib, int passes) {
    assertThatThrownBy(() -> KeyDerivation.inTurn(memoryKib, passes, soon(), () -> "made"))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.UNAVAILABLE));
  }

  @ParameterizedTest
  @CsvSource({"64,1", "32,65", "128,256", "1,2000000000"})
  void whatMayTakeMinutesHoldsUpItsLikeOnly(int memory, int passes) throws Exception {
    beside(
        memory * MIB,
        passes,
        () -> {
          assertThat(KeyDerivation.inTurn(32 * MIB, 8, soon(), () -> "made")).isEqualTo("made");
          assertWaits(64 * MIB, 64);
        });
  }

  @Test
  void whoWaitsCanEndThat() throws Exception {
    Runnable ends =
        () -> {
          throw new IllegalStateException("ended");
        };
    beside(
        32 * MIB,
        64,
        () ->
            assertThatThrownBy(() -> KeyDerivation.inTurn(32 * MIB, 2, AMPLE, ends, () -> "made"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("ended"));
    assertThat(KeyDerivation.inTurn(32 * MIB, 2, AMPLE, ends, () -> "made")).isEqualTo("made");
  }

  @Test
  void whatDriversMakeRunsOneAtATime() throws Exception {
    beside(
        32 * MIB,
        64,
        () -> {
          assertWaits(32 * MIB, 2);
          assertThat(KeyDerivation.inTurn(64 * MIB, 8, soon(), () -> "made")).isEqualTo("made");
        });
  }
}
