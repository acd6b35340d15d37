package io.cephcsi.driver.node.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TrimGateTest {
  private final TrimGate gate = new TrimGate();

  @Test
  void oneTrimOfAVolumeRunsAtATime() {
    try (TrimGate.Pass pass = gate.enter("a");
        TrimGate.Pass other = gate.enter("b")) {
      assertThatThrownBy(() -> gate.enter("a"))
          .isInstanceOfSatisfying(
              VolumeException.class,
              e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.ABORTED));
      assertThat(pass.mustStop()).isFalse();
      assertThat(other.mustStop()).isFalse();
    }
    gate.enter("a").close();
  }

  @Test
  void whoUnmountsWaitsForTheTrimToStopAndKeepsOthersOut() throws Exception {
    TrimGate.Pass pass = gate.enter("a");
    CompletableFuture<TrimGate.Closed> unmount =
        CompletableFuture.supplyAsync(() -> gate.close("a"));
    while (!pass.mustStop()) {
      Thread.onSpinWait();
    }
    assertThat(unmount).isNotDone();
    pass.close();
    TrimGate.Closed closed = unmount.get(60, TimeUnit.SECONDS);
    assertThatThrownBy(() -> gate.enter("a")).isInstanceOf(VolumeException.class);
    TrimGate.Closed again = gate.close("a");
    closed.close();
    assertThatThrownBy(() -> gate.enter("a")).isInstanceOf(VolumeException.class);
    again.close();
    gate.enter("a").close();
  }
}
