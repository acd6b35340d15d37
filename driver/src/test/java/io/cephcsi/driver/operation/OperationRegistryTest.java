package io.cephcsi.driver.operation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

@SuppressWarnings("FutureReturnValueIgnored") // what counts is what the registry does meanwhile
class OperationRegistryTest {
  private static final boolean GONE = true;
  private static final boolean WAITING = false;
  private static final Executor DIRECT = Runnable::run;

  private final AtomicLong nanos = new AtomicLong();
  private final FakeClock clock = new FakeClock();
  private final OperationRegistry registry =
      new OperationRegistry(clock, nanos::get, Duration.ofMinutes(10), Duration.ofSeconds(60));
  private final Deque<Runnable> queue = new ArrayDeque<>();

  @Test
  void theResultOfTheWorkCompletesTheFuture() {
    assertThat(registry.start("a", "Make", DIRECT, operation -> operation.key() + operation.kind()))
        .isCompletedWithValue("aMake");
    assertThat(registry.running()).isEmpty();
  }

  @Test
  void whatTheWorkThrowsFailsTheFutureAndFreesThePlace() {
    CompletableFuture<String> failed =
        registry.start(
            "a",
            "Make",
            DIRECT,
            operation -> {
              throw new AssertionError("an error, not just an exception");
            });
    assertThat(failed).isCompletedExceptionally();
    assertThat(registry.start("a", "Make", DIRECT, operation -> 1)).isCompletedWithValue(1);
  }

  @Test
  void aSecondOperationOfTheKeyIsToldWhatRunsSinceWhenAndHowFar() {
    List<Operation> started = new ArrayList<>();
    registry.start("vol-1", "ControllerReclaimSpace", queue::add, noted(started));
    assertAborted(
        () -> registry.start("vol-1", "DeleteVolume", DIRECT, operation -> 1),
        "ControllerReclaimSpace of vol-1",
        "since 2030-01-02T03:04:05Z (0 s)",
        "phase waiting, 0 %");

    // While it runs: from within.
    registry.start(
        "vol-2",
        "ControllerReclaimSpace",
        DIRECT,
        operation -> {
          nanos.addAndGet(Duration.ofSeconds(90).toNanos());
          operation.phase("sparsify");
          operation.progress(37, 100);
          assertAborted(
              () -> registry.start("vol-2", "DeleteVolume", DIRECT, other -> 1),
              "since 2030-01-02T03:04:05Z (90 s)",
              "phase sparsify, 37 %");
          operation.phase("measure");
          assertThat(operation.describe()).contains("phase measure, 0 %");
          operation.progress(5, 0);
          assertThat(operation.describe()).contains("0 %");
          operation.progress(7, 5);
          assertThat(operation.describe()).contains("100 %");
          return 1;
        });
    assertThat(registry.start("other", "DeleteVolume", DIRECT, operation -> 1)).isCompleted();
    queue.remove().run();
    assertThat(started).hasSize(1);
  }

  @Test
  void thePlaceIsFreeBeforeTheCallerHearsOfTheEnd() {
    CompletableFuture<Integer> first = registry.start("a", "Make", queue::add, operation -> 1);
    CompletableFuture<Integer> next =
        first.thenCompose(one -> registry.start("a", "Make", DIRECT, operation -> one + 1));
    queue.remove().run();
    assertThat(next).isCompletedWithValue(2);
  }

  @Test
  void theResultIsKeptForTheRetryOfACallerThatWentAway() {
    assertThat(reclaim("a", "plan", GONE, "first")).isCompletedWithValue("first");
    assertThat(reclaim("a", "plan", WAITING, "second")).isCompletedWithValue("first");
    assertThat(reclaim("a", "plan", WAITING, "third"))
        .as("given once")
        .isCompletedWithValue("third");
  }

  @Test
  void theResultIsNotKeptForACallerThatGotIt() {
    reclaim("a", "plan", WAITING, "first");
    assertThat(reclaim("a", "plan", WAITING, "second")).isCompletedWithValue("second");
  }

  @Test
  void theResultIsForTheSameRequestOnly() {
    reclaim("a", "plan", GONE, "first");
    assertThat(reclaim("b", "plan", WAITING, "other key")).isCompletedWithValue("other key");
    assertThat(reclaim("a", "other plan", WAITING, "other plan"))
        .isCompletedWithValue("other plan");
    assertThat(reclaim("a", "plan", WAITING, "third"))
        .as("the other plan changed the volume")
        .isCompletedWithValue("third");
  }

  @Test
  void aFailureIsNotKept() {
    assertThat(
            registry.startKept(
                "a",
                "Reclaim",
                "plan",
                () -> GONE,
                DIRECT,
                operation -> {
                  throw new IllegalStateException("failed");
                }))
        .isCompletedExceptionally();
    assertThat(reclaim("a", "plan", WAITING, "second")).isCompletedWithValue("second");
  }

  @Test
  void anyOtherOperationOfTheKeyDropsTheKeptResult() {
    reclaim("a", "plan", GONE, "first");
    registry.start("a", "Expand", DIRECT, operation -> 1).join();
    assertThat(reclaim("a", "plan", WAITING, "second")).isCompletedWithValue("second");

    reclaim("a", "plan", GONE, "third");
    registry.hold("a", "Delete").close();
    assertThat(reclaim("a", "plan", WAITING, "fourth"))
        .as("who held the key may have changed the volume")
        .isCompletedWithValue("fourth");
  }

  @Test
  void aKeptResultExpires() {
    reclaim("a", "plan", GONE, "first");
    nanos.addAndGet(Duration.ofMinutes(10).toNanos() - 1);
    reclaim("b", "plan", GONE, "first");
    assertThat(reclaim("a", "plan", WAITING, "second")).isCompletedWithValue("first");
    nanos.addAndGet(Duration.ofMinutes(10).toNanos());
    assertThat(reclaim("b", "plan", WAITING, "second")).isCompletedWithValue("second");
  }

  @Test
  void aRetryWhileTheOperationRunsIsAborted() {
    registry.startKept("a", "Reclaim", "plan", () -> GONE, queue::add, operation -> "first");
    assertAborted(() -> reclaim("a", "plan", WAITING, "second"), "Reclaim of a");
    queue.remove().run();
    assertThat(reclaim("a", "plan", WAITING, "third")).isCompletedWithValue("first");
  }

  @Test
  void whatWaitsForAThreadGivesWayAtOnce() {
    CompletableFuture<String> reclaim =
        registry.startKept("a", "Reclaim", "plan", () -> GONE, queue::add, operation -> "done");
    assertThat(registry.start("a", "Publish", DIRECT, operation -> 1)).isCompletedWithValue(1);
    assertThat(reclaim)
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingCause()
        .isInstanceOf(VolumeException.class)
        .withMessage("Reclaim of a was cancelled before it began: Publish has precedence");
    queue.remove().run();
    assertThat(reclaim("a", "plan", WAITING, "next")).as("nothing").isCompletedWithValue("next");

    registry.startKept("b", "Reclaim", "plan", () -> GONE, queue::add, operation -> "done");
    registry.share("b", "CreateSnapshot").close();
    queue.remove().run();
    assertThat(registry.running()).isEmpty();
  }

  @Test
  void whatRunsGivesWayAtItsNextSafePoint() {
    CompletableFuture<String> reclaim =
        registry.startKept(
            "a",
            "Reclaim",
            "plan",
            () -> WAITING,
            DIRECT,
            operation -> {
              assertAborted(() -> reclaim("a", "plan", WAITING, "second"), "Reclaim of a");
              assertThat(operation.isCancelled()).as("by its own repetition").isFalse();
              assertAborted(() -> registry.share("a", "CreateSnapshot"), "Reclaim of a");
              return operation.whyCancelled();
            });
    assertThat(reclaim).isCompletedWithValue("CreateSnapshot has precedence");
    assertThat(registry.running()).isEmpty();
  }

  @Test
  void whatRunsEndsForTheKindThatItNames() {
    CompletableFuture<String> stage =
        registry.start(
            "a",
            "Stage",
            DIRECT,
            operation -> {
              operation.endsFor("Unstage");
              assertAborted(() -> registry.start("a", "Expand", DIRECT, other -> 1), "Stage of a");
              assertThat(operation.isCancelled()).as("by any other").isFalse();
              assertAborted(() -> registry.start("a", "Unstage", DIRECT, other -> 1), "Stage of a");
              return operation.whyCancelled();
            });
    assertThat(stage).isCompletedWithValue("Unstage has precedence");
    assertThat(registry.running()).isEmpty();
  }

  @Test
  void anExecutorThatIsFullFreesThePlace() {
    Executor full =
        task -> {
          throw new RejectedExecutionException("full");
        };
    assertReason(Reason.UNAVAILABLE, () -> registry.start("a", "Make", full, operation -> 1));
    assertThat(registry.running()).isEmpty();
    assertThat(registry.start("a", "Make", DIRECT, operation -> 2)).isCompletedWithValue(2);
  }

  @Test
  void aCallerIsAnsweredInTimeWhileTheOperationGoesOn() {
    OperationRegistry hurried =
        new OperationRegistry(clock, nanos::get, Duration.ofMinutes(10), Duration.ofMillis(20));
    CompletableFuture<Integer> late = hurried.start("a", "Make", queue::add, operation -> 1);
    assertThat(late)
        .failsWithin(Duration.ofSeconds(30))
        .withThrowableThat()
        .withMessageContainingAll("Make of a", "goes on")
        .havingRootCause()
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.DEADLINE_EXCEEDED));
    assertThat(hurried.running()).hasSize(1);
    queue.remove().run();
    assertThat(hurried.start("a", "Make", DIRECT, operation -> 2)).isCompletedWithValue(2);
  }

  @Test
  void readingLocksNothingAndIsRefusedByAFullExecutor() {
    CompletableFuture<Integer> running = registry.start("a", "Make", queue::add, operation -> 1);
    assertThat(registry.read("reading a", DIRECT, () -> 7)).isCompletedWithValue(7);
    assertThat(running).isNotDone();
    Executor full =
        task -> {
          throw new RejectedExecutionException("full");
        };
    assertReason(Reason.UNAVAILABLE, () -> registry.read("reading a", full, () -> 7));
  }

  @Test
  void aCallIsDueOnceInAnIntervalAndThePlacesThatItHoldsAreNot() {
    Duration interval = Duration.ofSeconds(30);
    registry.start("vol-1", "DeleteVolume", queue::add, operation -> 1);
    CompletableFuture<Integer> read = registry.read("ListVolumes", queue::add, () -> 7);
    try (OperationRegistry.Hold name = registry.hold("name pvc-1", "DeleteVolume");
        OperationRegistry.Hold source = registry.share("snap-1", "DeleteVolume")) {
      nanos.addAndGet(Duration.ofSeconds(29).toNanos());
      assertThat(registry.due(interval)).isEmpty();
      clock.now = clock.now.plusSeconds(86_400); // somebody set the machine's clock
      assertThat(registry.due(interval)).isEmpty();
      nanos.addAndGet(Duration.ofSeconds(1).toNanos());
      assertThat(registry.due(interval).stream().map(Operation::describe))
          .containsExactlyInAnyOrder(
              "DeleteVolume of vol-1 has been running since 2030-01-02T03:04:05Z (30 s): phase"
                  + " waiting, 0 %",
              "ListVolumes has been running since 2030-01-02T03:04:05Z (30 s): phase waiting,"
                  + " 0 %");
      assertThat(registry.due(interval)).isEmpty();
      nanos.addAndGet(Duration.ofSeconds(75).toNanos()); // one line for intervals that were missed
      assertThat(registry.due(interval)).hasSize(2);
      assertThat(registry.due(interval)).isEmpty();
      nanos.addAndGet(Duration.ofSeconds(15).toNanos());
      assertThat(registry.due(interval)).hasSize(2);
      queue.forEach(Runnable::run);
      assertThat(read).isCompletedWithValue(7);
      nanos.addAndGet(Duration.ofSeconds(60).toNanos());
      assertThat(registry.due(interval)).isEmpty();
      assertThat(name).isNotSameAs(source);
    }
  }

  @Test
  void eachCallCountsOnceHoweverManyKeysItHolds() {
    registry.start("vol-1", "DeleteVolume", queue::add, operation -> 1);
    CompletableFuture<Integer> read = registry.read("ListVolumes", queue::add, () -> 7);
    try (OperationRegistry.Hold name = registry.hold("name pvc-1", "DeleteVolume");
        OperationRegistry.Hold source = registry.share("snap-1", "DeleteVolume")) {
      assertThat(name).isNotSameAs(source);
      assertThat(registry.calls()).isEqualTo(2);
    }
    queue.forEach(Runnable::run);
    assertThat(read).isCompletedWithValue(7);
    assertThat(registry.calls()).isZero();
  }

  @Test
  void aReadThatHasNotBegunInTimeIsNotDoneAnyMore() {
    OperationRegistry hurried = new OperationRegistry(Duration.ofMillis(1));
    AtomicInteger done = new AtomicInteger();
    CompletableFuture<Integer> read = hurried.read("reading a", queue::add, done::incrementAndGet);
    assertThat(read).failsWithin(Duration.ofSeconds(30));
    queue.remove().run();
    assertThat(done).hasValue(0);
  }

  @Test
  void afterStopNothingStartsButWhatRunsEnds() {
    CompletableFuture<String> running =
        registry.start(
            "a",
            "Delete",
            queue::add,
            operation -> {
              // An operation that runs may still lock what it needs to end well.
              try (OperationRegistry.Hold hold = registry.hold("name", "Delete")) {
                return "done";
              }
            });
    registry.stop();
    assertReason(Reason.UNAVAILABLE, () -> registry.start("b", "Make", DIRECT, operation -> 1));
    assertThat(registry.running()).extracting(Operation::key).containsExactly("a");
    queue.remove().run();
    assertThat(running).isCompletedWithValue("done");
    assertThat(registry.running()).isEmpty();
  }

  @Test
  void cancelAllAsksAllThatRun() {
    List<Operation> started = new ArrayList<>();
    registry.start(
        "a",
        "Make",
        DIRECT,
        a -> {
          registry.start(
              "b",
              "Make",
              DIRECT,
              b -> {
                assertThat(a.isCancelled()).isFalse();
                registry.cancelAll();
                started.addAll(List.of(a, b));
                return 1;
              });
          return 1;
        });
    assertThat(started).hasSize(2).allMatch(Operation::isCancelled);
    registry.start("a", "Make", DIRECT, noted(started));
    assertThat(started.get(2).isCancelled()).isFalse();
  }

  @Test
  void aHoldLocksUntilItIsClosed() {
    OperationRegistry.Hold hold = registry.hold("name", "DeleteVolume");
    assertAborted(
        () -> registry.start("name", "CreateVolume", DIRECT, operation -> 1),
        "DeleteVolume of name");
    assertAborted(() -> registry.hold("name", "DeleteVolume"), "DeleteVolume of name");
    hold.close();
    CompletableFuture<Integer> queued = registry.start("name", "Make", queue::add, o -> 1);
    hold.close(); // again: must not free the place of another
    assertAborted(() -> registry.hold("name", "DeleteVolume"), "Make of name");
    queue.remove().run();
    assertThat(queued).isCompletedWithValue(1);
  }

  @Test
  void aCallerIsToldInTimeWhileTheWorkGoesOn() throws Exception {
    OperationRegistry impatient =
        new OperationRegistry(clock, nanos::get, Duration.ofMinutes(10), Duration.ofMillis(50));
    CountDownLatch end = new CountDownLatch(1);
    ExecutorService threads = Executors.newSingleThreadExecutor();
    try {
      CompletableFuture<String> call =
          impatient.start(
              "v1",
              "DeleteVolume",
              threads,
              operation -> {
                try {
                  assertThat(end.await(60, TimeUnit.SECONDS)).isTrue();
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
                return "done";
              });

      assertThatThrownBy(() -> call.get(30, TimeUnit.SECONDS))
          .hasRootCauseInstanceOf(VolumeException.class)
          .hasMessageContaining("DeleteVolume of v1")
          .hasMessageContaining("goes on");
      assertThat(impatient.running()).hasSize(1);
    } finally {
      end.countDown();
      threads.shutdown();
    }
  }

  @Test
  void ofManyThatRaceForAKeyOneRunsAtATime() throws Exception {
    int threads = 64;
    int rounds = 50;
    ExecutorService racers = Executors.newFixedThreadPool(threads);
    ExecutorService workers = Executors.newFixedThreadPool(4);
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger done = new AtomicInteger();
    AtomicInteger aborted = new AtomicInteger();
    CountDownLatch go = new CountDownLatch(1);
    try {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        all.add(
            racers.submit(
                () -> {
                  go.await();
                  for (int round = 0; round < rounds; round++) {
                    try {
                      registry
                          .start(
                              "key",
                              "Race",
                              workers,
                              operation -> {
                                assertThat(inside.incrementAndGet()).isEqualTo(1);
                                return inside.decrementAndGet();
                              })
                          .join();
                      done.incrementAndGet();
                    } catch (VolumeException e) {
                      assertThat(e.reason()).isEqualTo(Reason.ABORTED);
                      aborted.incrementAndGet();
                    }
                  }
                  return null;
                }));
      }
      go.countDown();
      for (Future<?> one : all) {
        one.get(60, TimeUnit.SECONDS);
      }
    } finally {
      racers.shutdownNow();
      workers.shutdownNow();
    }
    assertThat(done.get() + aborted.get()).isEqualTo(threads * rounds);
    assertThat(done.get()).isPositive();
    assertThat(registry.running()).isEmpty();
  }

  private CompletableFuture<String> reclaim(
      String key, String plan, boolean callerGone, String result) {
    return registry.startKept(key, "Reclaim", plan, () -> callerGone, DIRECT, operation -> result);
  }

  private static java.util.function.Function<Operation, Integer> noted(List<Operation> started) {
    return operation -> {
      started.add(operation);
      return 1;
    };
  }

  private static void assertAborted(ThrowingCallable call, String... texts) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.ABORTED))
        .hasMessageContainingAll(texts);
  }

  private static void assertReason(Reason reason, ThrowingCallable call) {
    assertThat(catchThrowableOfType(VolumeException.class, call).reason()).isEqualTo(reason);
  }

  /** A clock that stands until it is moved. */
  private static final class FakeClock extends Clock {
    private Instant now = Instant.parse("2030-01-02T03:04:05Z");

    @Override
    public Instant instant() {
      return now;
    }

    @Override
    public ZoneId getZone() {
      return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
      return this;
    }
  }
}
