package io.cephcsi.bindings.cls;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;

class MapMemoryTest {
  private static final long MIB = 1 << 20;

  private final MapMemory memory = new MapMemory(32 * MIB);

  private CompletableFuture<Void> takenAside(long bytes) {
    return CompletableFuture.runAsync(() -> memory.take(bytes).close());
  }

  private static void assertWaits(CompletableFuture<Void> taken) {
    Assertions.assertThatThrownBy(() -> taken.get(200, TimeUnit.MILLISECONDS))
        .isInstanceOf(TimeoutException.class);
  }

  @Test
  void whatIsTooMuchWaitsAndWhatIsSmallDoesNot() throws Exception {
    CompletableFuture<Void> next;
    try (MapMemory.Held one = memory.take(16 * MIB);
        MapMemory.Held other = memory.take(10 * MIB)) {
      assertThat(one).isNotSameAs(other);
      takenAside(6 * MIB).get(10, TimeUnit.SECONDS);
      next = takenAside(16 * MIB);
      assertWaits(next);
      takenAside(MapMemory.SMALL).get(10, TimeUnit.SECONDS);
    }
    next.get(10, TimeUnit.SECONDS);
  }

  @Test
  void whatIsLargerThanAllIsReadAlone() throws Exception {
    CompletableFuture<Void> next;
    try (MapMemory.Held all = memory.take(40 * MIB)) {
      assertThat(all).isNotNull();
      next = takenAside(MIB);
      assertWaits(next);
    }
    next.get(10, TimeUnit.SECONDS);
  }

  @Test
  void whoDoesNotWaitGetsNothingOrAllOfIt() {
    MapMemory.Held most = memory.tryTake(31 * MIB).orElseThrow();
    assertThat(memory.tryTake(2 * MIB)).isEmpty();
    assertThat(memory.tryTake(MapMemory.SMALL)).isPresent();
    most.close();
    assertThat(memory.tryTake(33 * MIB)).isEmpty();
    memory.tryTake(32 * MIB).orElseThrow().close();
    assertThat(memory.tryTake(32 * MIB)).isPresent();
  }
}
