package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.reclaim.ImageEstimate;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class PoolQueueTest {
  private static final ImageEstimate A = PoolStates.image("a", 100);
  private static final ImageEstimate B = PoolStates.image("b", 50);
  private static final ImageEstimate C = PoolStates.image("c", 10);

  private static PoolQueue queue(long budget, long spent) {
    return new PoolQueue(List.of(A, B, C), OptionalLong.of(budget), spent);
  }

  @Test
  void withoutABudgetAllAreHandedOutInOrder() {
    PoolQueue queue = new PoolQueue(List.of(A, B), OptionalLong.empty(), 0);
    assertThat(queue.next()).contains(A);
    assertThat(queue.next()).contains(B);
    assertThat(queue.next()).isEmpty();
    assertThat(queue.isUsedUp()).isFalse();
  }

  @Test
  void theImageThatUsesTheBudgetUpIsTheLast() {
    PoolQueue queue = queue(101, 0);
    assertThat(queue.next()).contains(A);
    assertThat(queue.next()).contains(B);
    queue.ended(A, 100);
    queue.ended(B, 50);
    assertThat(queue.next()).isEmpty();
    assertThat(queue.isUsedUp()).isTrue();
    assertThat(queue.left()).isEqualTo(1);
  }

  @Test
  void whatEarlierRunsDiscardedCounts() {
    PoolQueue queue = queue(100, 100);
    assertThat(queue.next()).isEmpty();
    assertThat(queue.isUsedUp()).isTrue();
    assertThat(queue(100, 99).next()).contains(A);
  }

  @Test
  void anImageThatGaveLessThanEstimatedLeavesTheBudgetToTheNext() {
    PoolQueue queue = queue(60, 0);
    assertThat(queue.next()).contains(A);
    CompletableFuture<Optional<ImageEstimate>> next = new CompletableFuture<>();
    Thread other = new Thread(() -> next.complete(queue.next()), "waits");
    other.start();
    Awaitility.await()
        .atMost(Duration.ofSeconds(10))
        .until(() -> other.getState() == Thread.State.WAITING);
    assertThat(next).isNotDone();
    queue.ended(A, 0);
    assertThat(next.join()).contains(B);
  }

  @Test
  void aStoppedQueueHandsOutNoMoreAndNobodyWaits() {
    PoolQueue queue = queue(60, 0);
    assertThat(queue.next()).contains(A);
    queue.stop();
    assertThat(queue.next()).isEmpty();
    assertThat(queue.isUsedUp()).isFalse();
    assertThat(queue.left()).isEqualTo(2);
  }

  @Test
  void forgedSizesDoNotOverflow() {
    ImageEstimate most = PoolStates.image("most", Long.MAX_VALUE);
    PoolQueue queue = new PoolQueue(List.of(most, most, A), OptionalLong.of(10), 5);
    assertThat(queue.next()).contains(most);
    queue.ended(most, 0);
    assertThat(queue.next()).contains(most);
    queue.ended(most, 5);
    assertThat(queue.next()).isEmpty();
  }
}
