package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.cephcsi.bindings.error.CephException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class OwnerCallsTest {
  private static final String ADDRESS = "v1:10.0.0.5:0/1";
  private static final LockOwners OTHER = wanted -> Optional.of(ADDRESS).filter(wanted);
  private static final OwnerCalls.Place IMAGE = new OwnerCalls.Place("ceph", 1, "", "image");
  private static final Duration NONE = Duration.ofNanos(1);
  private static final Duration LONG = Duration.ofMinutes(5);

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final AtomicLong nanos = new AtomicLong();
  private final RunningCalls calls = new RunningCalls(threads, Duration.ZERO, nanos::get);
  private final CountDownLatch answers = new CountDownLatch(1);

  @AfterEach
  void stop() {
    answers.countDown();
    threads.shutdown();
  }

  private OwnerCalls of(OwnerCalls.Place place, LockOwners owners, Duration patience) {
    return new OwnerCalls(place, owners, patience, Runnable::run, calls);
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(1, TimeUnit.MINUTES)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static CephException.OwnerSilent silent(Runnable call) {
    CephException.OwnerSilent silent =
        catchThrowableOfType(CephException.OwnerSilent.class, call::run);
    assertThat(silent).isNotNull();
    return silent;
  }

  private void giveUp(OwnerCalls.Place place) {
    OwnerCalls impatient = of(place, OTHER, NONE);
    assertThat(silent(() -> impatient.run("rbd_call", "it", () -> await(answers))).isUnderWay())
        .isTrue();
  }

  @Test
  void anImageIsUsedWhileAnotherClientFlattensIt() {
    CountDownLatch heard = new CountDownLatch(1);
    LockOwners whenHeard =
        wanted -> {
          await(heard);
          return OTHER.other(wanted);
        };
    OwnerCalls flattening = of(IMAGE, whenHeard, NONE);
    assertThat(
            silent(
                () ->
                    flattening.run(
                        "rbd_flatten",
                        "it",
                        Progress.NONE,
                        progress -> {
                          progress.progress(1, 100);
                          heard.countDown();
                          await(answers);
                        })))
        .hasMessageContaining("another client still carries it out");
    Executor none =
        task -> {
          throw new AssertionError("it waits for long");
        };
    new OwnerCalls(IMAGE, OTHER, NONE, none, calls).close(() -> await(answers)); // as the flatten

    OwnerCalls later = of(IMAGE, OTHER, LONG);
    later.requireAnswers("rbd_open", "it");
    later.run("rbd_snap_create2", "it", () -> {});
    later.run("rbd_sparsify", "it", Progress.NONE, progress -> {});
    AtomicBoolean isBegun = new AtomicBoolean();
    assertThat(
            silent(
                () -> later.run("rbd_flatten", "it", Progress.NONE, progress -> isBegun.set(true))))
        .hasMessageContaining("another client still carries it out")
        .returns(true, CephException.OwnerSilent::isUnderWay);
    assertThat(isBegun).isFalse();
    later.close(() -> {});

    nanos.addAndGet(NONE.toNanos()); // without progress
    assertThat(silent(() -> flattening.requireAnswers("rbd_open", "it")).isUnderWay()).isTrue();
  }

  /** Ends when somebody asks who has the lock, and before that is told. */
  private void endingWhenAsked(Runnable end) {
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    Executor noted =
        task ->
            threads.execute(
                () -> {
                  task.run();
                  ended.countDown();
                });
    LockOwners late =
        wanted -> {
          asked.countDown();
          await(ended);
          return OTHER.other(wanted);
        };
    RunningCalls own = new RunningCalls(noted, Duration.ZERO, nanos::get);
    new OwnerCalls(IMAGE, late, NONE, Runnable::run, own)
        .run(
            "rbd_call",
            "it",
            () -> {
              await(asked);
              end.run();
            });
  }

  @Test
  void aCallThatEndsWhileItsOwnerIsAskedForHasItsResult() {
    AtomicBoolean isDone = new AtomicBoolean();
    endingWhenAsked(() -> isDone.set(true));
    assertThat(isDone).isTrue();
    IllegalStateException error = new IllegalStateException("its own error");
    assertThatThrownBy(
            () ->
                endingWhenAsked(
                    () -> {
                      throw error;
                    }))
        .isSameAs(error);
  }

  @Test
  void whatFindsNoRoomIsNotUnderWay() {
    for (int i = 0; i < 32; i++) {
      giveUp(new OwnerCalls.Place("ceph", 1, "", "image-" + i));
    }
    assertThat(silent(() -> of(IMAGE, OTHER, LONG).run("rbd_call", "it", () -> {})))
        .hasMessageContaining("too many calls")
        .hasMessageContaining(ADDRESS)
        .returns(false, CephException.OwnerSilent::isUnderWay);
    of(IMAGE, wanted -> Optional.empty(), LONG).run("rbd_call", "it", () -> {});
  }

  @Test
  void whatFindsNoThreadIsNotUnderWay() {
    RunningCalls full =
        new RunningCalls(
            task -> {
              throw new RejectedExecutionException("full");
            },
            Duration.ZERO,
            nanos::get);
    OwnerCalls image = new OwnerCalls(IMAGE, OTHER, LONG, Runnable::run, full);
    for (int i = 0; i < 10; i++) { // none of them counts
      assertThat(silent(() -> image.run("rbd_call", "it", () -> {})))
          .hasMessageEndingWith("too many calls wait for clients with locks)")
          .returns(false, CephException.OwnerSilent::isUnderWay);
    }
  }

  @Test
  void whatWaitsForAnotherCallIsUnderWay() {
    giveUp(IMAGE);
    assertThat(silent(() -> of(IMAGE, OTHER, LONG).run("rbd_call", "it", () -> {})).isUnderWay())
        .isTrue();
  }

  /** A tenant with silent clients has images, which are no reason to refuse groups of others. */
  @Test
  void aGroupIsRefusedOnlyIfASilentClientHasOneOfItsImages() {
    OwnerCalls.Place group = new OwnerCalls.Place("ceph", 1, "", "group g");
    for (int i = 0; i < 32; i++) {
      giveUp(new OwnerCalls.Place("ceph", 1, "", "image-" + i));
    }
    of(group, OTHER, LONG).run("rbd_group_snap_create2", "it", () -> {});
    for (int i = 0; i < 8; i++) {
      OwnerCalls.Place other = new OwnerCalls.Place("ceph", 1, "", "group " + i);
      calls.begin(other, "rbd_group_snap_create2");
    }
    LockOwners answering = wanted -> Optional.of("v1:10.0.0.6:0/1").filter(wanted);
    of(group, answering, LONG).run("rbd_group_snap_create2", "it", () -> {});
    assertThat(silent(() -> of(group, OTHER, LONG).run("rbd_group_snap_create2", "it", () -> {})))
        .hasMessageContaining("the client at " + ADDRESS + " has an image of this group");
  }

  @Test
  void aCloseBehindACallThatWasGivenUpTakesNoThreadOfCalls() {
    giveUp(IMAGE);
    CountDownLatch closed = new CountDownLatch(1);
    AtomicReference<String> name = new AtomicReference<>("");
    of(IMAGE, OTHER, LONG)
        .close(
            () -> {
              name.set(Thread.currentThread().getName());
              closed.countDown();
            });
    await(closed);
    assertThat(name).hasValue("rbd-change"); // those of this test have other names
  }
}
