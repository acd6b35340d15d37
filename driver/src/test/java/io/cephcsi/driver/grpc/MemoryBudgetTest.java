package io.cephcsi.driver.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Metadata;
import io.grpc.Status;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class MemoryBudgetTest {
  private static final long LARGE = 1 << 20;

  private final MemoryBudget budget = new MemoryBudget();

  private RequestBytes call() {
    return (RequestBytes)
        RequestBytes.factory(budget).newServerStreamTracer("method", new Metadata());
  }

  @Test
  void largeRequestsLeaveRoomForSmallOnes() {
    int taken = 0;
    while (taken < 100 && budget.take(LARGE, 0)) {
      taken++;
    }
    assertThat(taken).isEqualTo(12);
    assertThat(budget.take(1000, 0)).isTrue();
    assertThat(budget.take(1000, LARGE)).isFalse();
  }

  @Test
  void whatACallTookIsGivenBackAtItsEnd() {
    RequestBytes call = call();
    AtomicInteger refusals = new AtomicInteger();
    call.onRefusal(refusals::incrementAndGet);
    call.inboundWireSize(LARGE);
    assertThat(call.take(LARGE)).isTrue();
    assertThat(budget.used()).isEqualTo(2 * LARGE);
    call.streamClosed(Status.OK);
    call.inboundWireSize(LARGE); // comes too late
    assertThat(budget.used()).isZero();
    assertThat(refusals).hasValue(0);
  }

  @Test
  void aCallIsRefusedWhenTheMemoryIsUsedUp() {
    assertThat(budget.take(12 * LARGE, 0)).isTrue();
    RequestBytes call = call();
    call.inboundWireSize(LARGE);
    AtomicInteger refusals = new AtomicInteger();
    call.onRefusal(refusals::incrementAndGet);
    assertThat(refusals).hasValue(1);
    call.streamClosed(Status.RESOURCE_EXHAUSTED);
    assertThat(budget.used()).isEqualTo(12 * LARGE);
  }
}
