package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.machine.Command;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.hamcrest.Matchers;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClusterExecutorsTest {
  @TempDir private Path folder;

  private ClusterExecutors executors(String config) throws IOException {
    Path file = Files.writeString(folder.resolve("config.json"), config);
    return new ClusterExecutors(new ClusterDirectory(file), 2, 1);
  }

  @Test
  void eachConfiguredClusterHasThreadsOfItsOwnForEachPurpose() throws IOException {
    try (ClusterExecutors executors =
        executors(
            """
            [{"clusterID": "a", "monitors": ["m"]}, {"clusterID": "b", "monitors": ["m"]}]
            """)) {
      Set<Executor> all = new HashSet<>();
      for (String cluster : new String[] {"a", "b", "a", "b"}) {
        all.add(executors.calls(Storage.RBD, cluster));
        all.add(executors.calls(Storage.CEPHFS, cluster));
        all.add(executors.longWork(cluster));
        all.add(executors.reads(Storage.RBD, cluster));
        all.add(executors.reads(Storage.CEPHFS, cluster));
      }
      all.add(executors.lists(Storage.RBD));
      all.add(executors.lists(Storage.CEPHFS));
      assertThat(all).hasSize(12);
    }
  }

  @Test
  void anIdThatBeginsLikeAPurposeHasThreadsOfItsOwn() throws IOException {
    try (ClusterExecutors executors =
        executors(
            """
            [{"clusterID": "cephfs-x", "monitors": ["m"]}, {"clusterID": "x", "monitors": ["m"]}]
            """)) {
      assertThat(executors.calls(Storage.RBD, "cephfs-x"))
          .isNotSameAs(executors.calls(Storage.CEPHFS, "x"));
      assertThat(executors.reads(Storage.RBD, "cephfs-x"))
          .isNotSameAs(executors.reads(Storage.CEPHFS, "x"));
    }
  }

  @Test
  void idsThatAreNotConfiguredMakeNoPools() throws IOException {
    try (ClusterExecutors executors =
        executors("[{\"clusterID\": \"a\", \"monitors\": [\"m\"]}]")) {
      Set<Executor> all = new HashSet<>();
      for (int i = 0; i < 1000; i++) {
        all.add(executors.calls(Storage.RBD, "nobody-" + i));
      }
      assertThat(all).hasSize(1).doesNotContain(executors.calls(Storage.RBD, "a"));
    }
  }

  @Test
  void aClusterThatIsConfiguredLaterGetsItsOwn() throws IOException {
    try (ClusterExecutors executors = executors("[]")) {
      Executor before = executors.calls(Storage.RBD, "later");
      Files.writeString(
          folder.resolve("config.json"), "[{\"clusterID\": \"later\", \"monitors\": [\"m\"]}]");
      assertThat(executors.calls(Storage.RBD, "later")).isNotSameAs(before);
    }
  }

  /** Two calls wait for what takes as long as it likes; the third is served all the same. */
  @Test
  void longStepsHoldUpNoOtherCall() throws Exception {
    try (ClusterExecutors executors = executors("[]")) {
      Executor calls = executors.calls(Storage.RBD, "a");
      CountDownLatch end = new CountDownLatch(1);
      List<CompletableFuture<Void>> steps =
          Stream.generate(
                  () -> run(calls, () -> LongStep.run(() -> LongStep.run(() -> await(end)))))
              .limit(2)
              .toList();
      assertThat(run(calls, () -> {})).succeedsWithin(Duration.ofSeconds(30));
      assertThat(run(calls, () -> {})).succeedsWithin(Duration.ofSeconds(30));
      assertThat(steps).noneMatch(CompletableFuture::isDone);
      end.countDown();
      assertThat(steps).allSatisfy(step -> assertThat(step).succeedsWithin(Duration.ofSeconds(30)));
      assertBounded(calls, 2);
    }
  }

  /** A step that fails gives its place back, too. */
  @Test
  void asManyStepsAsOneLikesDoNotMakeThreadsWithoutEnd() throws Exception {
    try (ClusterExecutors executors = executors("[]")) {
      Executor calls = executors.calls(Storage.RBD, "a");
      CountDownLatch end = new CountDownLatch(1);
      AtomicInteger begun = new AtomicInteger();
      List<CompletableFuture<Void>> steps =
          Stream.generate(
                  () ->
                      run(
                          calls,
                          () ->
                              LongStep.run(
                                  () -> {
                                    begun.incrementAndGet();
                                    await(end);
                                    throw new IllegalStateException("ended");
                                  })))
              .limit(300)
              .toList();
      Awaitility.await().untilAtomic(begun, Matchers.equalTo(CallThreads.MOST_ASIDE + 2));
      end.countDown();
      assertThat(steps).allSatisfy(step -> assertThat(step).failsWithin(Duration.ofSeconds(30)));
      assertThat(begun).hasValue(300);
      assertBounded(calls, 2);
    }
  }

  @Test
  void aProgramThatMayTakeLongHoldsUpNoOtherCall() throws Exception {
    try (ClusterExecutors executors = executors("[]")) {
      Executor calls = executors.calls(Storage.RBD, "a");
      Command slow = Command.of("sleep", "600").within(Duration.ofSeconds(61));
      for (int i = 0; i < 2; i++) {
        calls.execute(() -> slow.tryRun());
      }
      assertThat(run(calls, () -> {})).succeedsWithin(Duration.ofSeconds(30));
    }
  }

  /** That no more run at once than may. */
  private static void assertBounded(Executor calls, int most) {
    CountDownLatch end = new CountDownLatch(1);
    AtomicInteger running = new AtomicInteger();
    List<CompletableFuture<Void>> all =
        Stream.generate(
                () ->
                    run(
                        calls,
                        () -> {
                          running.incrementAndGet();
                          await(end);
                        }))
            .limit(20)
            .toList();
    Awaitility.await().during(Duration.ofMillis(300)).untilAtomic(running, Matchers.equalTo(most));
    end.countDown();
    CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).join();
  }

  private static CompletableFuture<Void> run(Executor calls, Runnable work) {
    return CompletableFuture.runAsync(work, calls);
  }

  private static void await(CountDownLatch end) {
    try {
      end.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
