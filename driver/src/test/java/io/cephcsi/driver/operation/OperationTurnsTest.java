package io.cephcsi.driver.operation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.volume.VolumeException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;

/** Operations of one key that wait for each other. */
@SuppressWarnings("FutureReturnValueIgnored") // what counts is what the registry does meanwhile
class OperationTurnsTest {
  private static final Executor DIRECT = Runnable::run;

  private final OperationRegistry registry = new OperationRegistry(Duration.ofSeconds(60));
  private final Deque<Runnable> queue = new ArrayDeque<>();
  private final List<String> done = new ArrayList<>();

  private CompletableFuture<String> publish(String path) {
    return registry.startInTurn(
        "volume",
        path,
        "Publish",
        queue::add,
        operation -> {
          done.add(path);
          if (path.equals("bad")) {
            throw new IllegalStateException("failed");
          }
          return path;
        });
  }

  private static void assertAborted(CompletableFuture<String> future) {
    assertThatThrownBy(future::join).hasMessageContaining("already pending");
  }

  @Test
  void eachWaitsForThoseBeforeItWhateverBecomesOfThem() {
    List<CompletableFuture<String>> all =
        List.of(publish("a"), publish("bad"), publish("c"), publish("d"));
    for (int i = 0; i < 4; i++) {
      assertThat(queue).as("only one is begun").hasSize(1);
      assertThat(all.get(i)).isNotDone();
      queue.remove().run();
      assertThat(all.get(i)).isDone();
    }
    assertThat(done).containsExactly("a", "bad", "c", "d");
    assertThat(all.get(1)).isCompletedExceptionally();
    assertThat(all.get(3)).isCompletedWithValue("d");
    assertThat(registry.running()).isEmpty();
  }

  @Test
  void aSecondOneOfTheSamePartIsAborted() {
    publish("a");
    CompletableFuture<String> second = publish("b");
    assertThatThrownBy(() -> publish("a")).hasMessageContaining("Publish of a");
    assertThatThrownBy(() -> publish("b")).hasMessageContaining("Publish of b");
    queue.remove().run();
    queue.remove().run();
    assertThat(second).isCompletedWithValue("b");
    CompletableFuture<String> again = publish("a");
    queue.remove().run();
    assertThat(again).isCompletedWithValue("a");
  }

  @Test
  void anotherOperationIsNotWaitedForAndDoesNotWait() {
    registry.start("volume", "Stage", queue::add, operation -> "staged");
    assertAborted(publish("a"));
    queue.remove().run();
    publish("b");
    publish("c");
    assertThatThrownBy(() -> registry.start("volume", "Unstage", DIRECT, operation -> "unstaged"))
        .hasMessageContaining("Publish of volume");
    queue.remove().run();
    queue.remove().run();
    assertThat(registry.start("volume", "Unstage", DIRECT, operation -> "unstaged"))
        .isCompletedWithValue("unstaged");
    assertThat(done).containsExactly("b", "c");
  }

  @Test
  void oneThatRunsEndsForTheKindsThatItNamesOfItsPartOrKey() {
    for (String other : List.of("Unpublish", "Unstage")) {
      CompletableFuture<String> publish =
          registry.startInTurn(
              "volume",
              "a",
              "Publish",
              DIRECT,
              operation -> {
                operation.endsFor("Unpublish");
                operation.endsFor("Unstage");
                assertThatThrownBy(() -> publish("a")).hasMessageContaining("Publish of a");
                unpublish("b"); // waits
                assertThat(operation.isCancelled()).as("by any other").isFalse();
                assertThatThrownBy(
                        () -> {
                          if (other.equals("Unpublish")) {
                            unpublish("a");
                          } else {
                            registry.start("volume", other, DIRECT, unstage -> 1);
                          }
                        })
                    .hasMessageContaining("already pending: Publish of");
                return operation.whyCancelled();
              });
      assertThat(publish).isCompletedWithValue(other + " has precedence");
      queue.remove().run(); // that of b
      unpublish("a");
      queue.remove().run();
      assertThat(done).containsExactly("b", "a");
      assertThat(registry.running()).isEmpty();
      done.clear();
    }
  }

  private void unpublish(String path) {
    registry.startInTurn("volume", path, "Unpublish", queue::add, operation -> done.add(path));
  }

  @Test
  void whatWaitsWhenTheDriverStopsIsRefused() {
    CompletableFuture<String> first = publish("a");
    CompletableFuture<String> second = publish("b");
    registry.stop();
    queue.remove().run();
    assertThat(first).isCompletedWithValue("a");
    assertThatThrownBy(second::join)
        .hasRootCauseInstanceOf(VolumeException.class)
        .hasMessageContaining("the driver is stopping");
    assertThat(registry.running()).isEmpty();
  }

  @Test
  void aWaitThatIsTooLongIsToldAndGoesOn() {
    OperationRegistry impatient = new OperationRegistry(Duration.ofMillis(1));
    impatient.startInTurn("volume", "a", "Publish", queue::add, operation -> done.add("a"));
    CompletableFuture<Boolean> second =
        impatient.startInTurn("volume", "b", "Publish", queue::add, operation -> done.add("b"));
    assertThatThrownBy(second::join).hasMessageContaining("repeat the call for its result");
    queue.remove().run();
    queue.remove().run();
    assertThat(done).containsExactly("a", "b");
    assertThat(impatient.running()).isEmpty();
  }
}
