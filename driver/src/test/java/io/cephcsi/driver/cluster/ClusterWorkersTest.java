package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ClusterWorkersTest {
  private static final long PATIENCE_SECONDS = 60;

  private final CountDownLatch hung = new CountDownLatch(1);
  private final CountDownLatch answer = new CountDownLatch(1);

  private Void hang() throws InterruptedException {
    hung.countDown();
    answer.await();
    return null;
  }

  @Test
  void aClusterThatHangsHoldsUpNoOther() throws Exception {
    try (ClusterWorkers workers = new ClusterWorkers("work", 1, 10)) {
      Future<?> first = workers.of("a").submit(this::hang);
      Future<?> behind = workers.of("a").submit(() -> {});
      assertThat(hung.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
      assertThat(workers.of("b").submit(() -> "done").get(PATIENCE_SECONDS, TimeUnit.SECONDS))
          .isEqualTo("done");
      assertThat(List.of(first.isDone(), behind.isDone())).containsOnly(false);
      answer.countDown();
      assertThat(behind.get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isNull();
    }
  }

  @Test
  void aLongStepKeepsTheOrder() throws Exception {
    try (ClusterWorkers workers = new ClusterWorkers("work", 1, 10)) {
      ThreadPoolExecutor threads = (ThreadPoolExecutor) workers.of("a");
      Future<Integer> most = threads.submit(() -> LongStep.call(threads::getMaximumPoolSize));
      assertThat(most.get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo(1);
    }
  }

  @Test
  void aFullQueueRefusesOnlyItsCluster() throws Exception {
    try (ClusterWorkers workers = new ClusterWorkers("work", 1, 1)) {
      Future<?> first = workers.of("a").submit(this::hang);
      assertThat(hung.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
      Future<?> queued = workers.of("a").submit(() -> {});
      assertThatThrownBy(() -> workers.of("a").execute(() -> {}))
          .isInstanceOf(RejectedExecutionException.class);
      workers.of("b").execute(() -> {});
      answer.countDown();
      assertThat(first.get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isNull();
      assertThat(queued.get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isNull();
    }
  }

  @Test
  void closingWaitsForWhatWasQueuedAndRefusesMore() {
    List<String> done = new CopyOnWriteArrayList<>();
    ClusterWorkers workers = new ClusterWorkers("work", 1, 10);
    for (String cluster : List.of("a", "b")) {
      workers.of(cluster).execute(() -> done.add(cluster + 1));
      workers.of(cluster).execute(() -> done.add(cluster + 2));
    }
    workers.close(PATIENCE_SECONDS, TimeUnit.SECONDS);
    assertThat(done).containsExactlyInAnyOrder("a1", "a2", "b1", "b2");
    for (String cluster : List.of("a", "later")) {
      assertThatThrownBy(() -> workers.of(cluster).execute(() -> {}))
          .isInstanceOf(RejectedExecutionException.class);
    }
  }

  @Test
  void whatHangsIsToldToEndWhenTheTimeIsOver() throws Exception {
    ClusterWorkers workers = new ClusterWorkers("work", 1, 10);
    Future<?> first = workers.of("a").submit(this::hang);
    assertThat(hung.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    workers.close(0, TimeUnit.SECONDS);
    assertThatThrownBy(() -> first.get(PATIENCE_SECONDS, TimeUnit.SECONDS))
        .hasCauseInstanceOf(InterruptedException.class);
  }
}
