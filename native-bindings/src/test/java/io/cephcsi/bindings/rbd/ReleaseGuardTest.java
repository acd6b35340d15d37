package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ReleaseGuardTest {
  private static final OwnerCalls.Place SHARED = place("ceph", 1, "", "shared");

  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void stop() {
    threads.shutdownNow();
  }

  private static OwnerCalls.Place place(String fsid, long pool, String namespace, String image) {
    return new OwnerCalls.Place(fsid, pool, namespace, image);
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
    ReleaseGuard first = ReleaseGuard.of(SHARED);
    ReleaseGuard second = ReleaseGuard.of(place("ceph", 1, "", "shared"));
    assertThat(second).isSameAs(first);
    first.leave();
    assertThat(ReleaseGuard.of(SHARED)).isSameAs(first);
    first.leave();
    first.leave();
    assertThat(ReleaseGuard.of(SHARED)).isNotSameAs(first);
    second = ReleaseGuard.of(SHARED);
    second.leave();
    second.leave();
    assertThat(ReleaseGuard.isKnown(SHARED)).isFalse();
  }

  @Test
  void imagesOfOtherClustersPoolsAndNamespacesDoNot() {
    ReleaseGuard guard = ReleaseGuard.of(SHARED);
    for (OwnerCalls.Place other :
        List.of(
            place("other", 1, "", "shared"),
            place("ceph", 2, "", "shared"),
            place("ceph", 1, "tenant", "shared"),
            place("ceph", 1, "", "other"))) {
      assertThat(ReleaseGuard.isKnown(other)).as("%s", other).isFalse();
      ReleaseGuard another = ReleaseGuard.of(other);
      assertThat(another).as("%s", other).isNotSameAs(guard);
      another.leave();
    }
    guard.leave();
  }

  @Test
  void severalSnapshotsAreTakenAtOnce() throws Exception {
    ReleaseGuard guard = ReleaseGuard.of(place("ceph", 1, "", "snapshots"));
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
    ReleaseGuard guard = ReleaseGuard.of(place("ceph", 1, "", "release"));
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
