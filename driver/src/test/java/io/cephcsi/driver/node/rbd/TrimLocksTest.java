package io.cephcsi.driver.node.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TrimLocksTest {
  private final TrimLocks locks = new TrimLocks();

  @Test
  void oneTrimOfAVolumeRunsAtATime() {
    try (TrimLocks.Trim trim = locks.begin("a");
        TrimLocks.Trim other = locks.begin("b")) {
      assertThatThrownBy(() -> locks.begin("a"))
          .isInstanceOfSatisfying(
              VolumeException.class,
              e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.ABORTED));
      assertThat(trim.mustStop()).isFalse();
      assertThat(other.mustStop()).isFalse();
    }
    locks.begin("a").close();
  }

  @Test
  void anUnmountWaitsForTheTrimToStopAndKeepsOthersOut() throws Exception {
    TrimLocks.Trim trim = locks.begin("a");
    CompletableFuture<TrimLocks.Stopped> unmount =
        CompletableFuture.supplyAsync(() -> locks.stop("a"));
    while (!trim.mustStop()) {
      Thread.onSpinWait();
    }
    assertThat(unmount).isNotDone();
    trim.close();
    TrimLocks.Stopped closed = unmount.get(60, TimeUnit.SECONDS);
    assertThatThrownBy(() -> locks.begin("a")).isInstanceOf(VolumeException.class);
    TrimLocks.Stopped again = locks.stop("a");
    closed.close();
    assertThatThrownBy(() -> locks.begin("a")).isInstanceOf(VolumeException.class);
    again.close();
    locks.begin("a").close();
  }
}
