package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ReleaseGuardTest {
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void stop() {
    threads.shutdownNow();
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void allOpenImagesOfOneImageShareOne() {
    ReleaseGuard first = ReleaseGuard.of(1, "shared");
    ReleaseGuard second = ReleaseGuard.of(1, "shared");
    ReleaseGuard other = ReleaseGuard.of(2, "shared");
    assertThat(second).isSameAs(first);
    assertThat(other).isNotSameAs(first);
    first.leave();
    assertThat(ReleaseGuard.of(1, "shared")).isSameAs(first);
    first.leave();
    first.leave();
    other.leave();
    assertThat(ReleaseGuard.of(1, "shared")).isNotSameAs(first);
    second = ReleaseGuard.of(1, "shared");
    second.leave();
    second.leave();
    assertThat(ReleaseGuard.isKnown(1, "shared")).isFalse();
  }

  @Test
  void severalSnapshotsAreTakenAtOnce() throws Exception {
    ReleaseGuard guard = ReleaseGuard.of(1, "snapshots");
    CyclicBarrier both = new CyclicBarrier(2);
    Runnable meet =
        () -> {
          try {
            both.await(30, TimeUnit.SECONDS);
          } catch (Exception e) {
            throw new AssertionError(e);
          }
        };
    Future<?> one = threads.submit(() -> guard.whileOwned(meet));
    Future<?> two = threads.submit(() -> guard.whileOwned(meet));
    one.get();
    two.get();
    guard.leave();
  }

  @Test
  void aReleaseWaitsForSnapshotsAndTheyForIt() throws Exception {
    ReleaseGuard guard = ReleaseGuard.of(1, "release");
    CountDownLatch snapshotRuns = new CountDownLatch(1);
    CountDownLatch snapshotEnds = new CountDownLatch(1);
    CountDownLatch releaseRuns = new CountDownLatch(1);
    CountDownLatch releaseEnds = new CountDownLatch(1);
    CountDownLatch later = new CountDownLatch(1);
    Future<?> snapshot =
        threads.submit(
            () ->
                guard.whileOwned(
                    () -> {
                      snapshotRuns.countDown();
                      await(snapshotEnds);
                    }));
    await(snapshotRuns);
    Future<?> release =
        threads.submit(
            () ->
                guard.alone(
                    () -> {
                      releaseRuns.countDown();
                      await(releaseEnds);
                    }));
    assertThat(releaseRuns.await(200, TimeUnit.MILLISECONDS)).isFalse();
    snapshotEnds.countDown();
    await(releaseRuns);
    Future<?> next = threads.submit(() -> guard.whileOwned(later::countDown));
    assertThat(later.await(200, TimeUnit.MILLISECONDS)).isFalse();
    releaseEnds.countDown();
    await(later);
    snapshot.get();
    release.get();
    next.get();
    guard.leave();
  }
}
