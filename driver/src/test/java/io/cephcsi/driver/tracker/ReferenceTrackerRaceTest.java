package io.cephcsi.driver.tracker;

import static io.cephcsi.driver.tracker.ReferenceState.NORMAL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.testing.RawObject;
import io.cephcsi.driver.tracker.InterferingStore.Died;
import io.cephcsi.driver.tracker.InterferingStore.Fate;
import io.cephcsi.driver.volume.VolumeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Several processes and threads change a tracker at once, or die over it. */
class ReferenceTrackerRaceTest extends ReferenceTrackerCase {

  private void interfere(Runnable... calls) {
    for (Runnable call : calls) {
      store.beforeNextCall(
          () -> {
            call.run();
            memory.takeCalls();
          });
    }
  }

  // Others at the same time

  @Test
  void whoLosesTheRaceToMakeTheTrackerJoinsIt() {
    interfere(() -> {}, () -> other.add(SNAPSHOT, List.of(SNAPSHOT, "b")));
    assertThat(tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a")))
        .isEqualTo(new AddResult(Set.of("a"), Set.of()));
    assertThat(state().references()).isEqualTo(Map.of(SNAPSHOT, NORMAL, "a", NORMAL, "b", NORMAL));
  }

  @Test
  void whoIsStaleReadsAgainAndPauses() {
    other.add(SNAPSHOT, List.of(SNAPSHOT));
    interfere(
        () -> {},
        () -> other.add(SNAPSHOT, List.of("b")),
        () -> {},
        () -> other.add(SNAPSHOT, List.of("c")));
    assertThat(tracker.add(SNAPSHOT, List.of("a")).added()).containsExactly("a");
    assertThat(pauses).containsExactly(1, 2);
    assertThat(state().count()).isEqualTo(4);
  }

  @Test
  void whoIsStaleForEverIsToldToTryAgain() {
    other.add(SNAPSHOT, List.of(SNAPSHOT));
    for (int i = 0; i < 200; i++) {
      String key = "b" + i;
      interfere(() -> other.add(SNAPSHOT, List.of(key)));
    }
    assertThatThrownBy(() -> tracker.add(SNAPSHOT, List.of("a")))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.ABORTED))
        .hasMessageContaining(SNAPSHOT);
    assertThat(pauses).hasSizeBetween(10, 50);
    store.forget();
    assertThat(tracker.add(SNAPSHOT, List.of("a")).added()).containsExactly("a");
  }

  @Test
  void aReferenceThatIsAddedBeforeTheLastIsTakenKeepsTheSnapshot() {
    tracker.add(SNAPSHOT, List.of("a"));
    interfere(() -> {}, () -> other.add(SNAPSHOT, List.of("b")));
    assertThat(tracker.remove(SNAPSHOT, "a")).isEqualTo(RemoveResult.REMAINING);
    assertThat(state().references()).isEqualTo(Map.of("b", NORMAL));
  }

  @Test
  void onlyOneOfTwoTakesTheLastReference() {
    tracker.add(SNAPSHOT, List.of("a"));
    interfere(
        () -> {},
        () -> assertThat(other.remove(SNAPSHOT, "a")).isEqualTo(RemoveResult.LAST_UNMASKED));
    assertThat(tracker.remove(SNAPSHOT, "a")).isEqualTo(RemoveResult.MISSING);
  }

  // Death and doubt

  @Test
  void whoDiesBeforeOrAfterTheWriteConvergesOnRetry() {
    for (Fate fate : List.of(Fate.DIES_BEFORE, Fate.DIES_AFTER)) {
      String key = "key-" + fate;
      tracker.add(SNAPSHOT, List.of(SNAPSHOT));
      store.atNextWrite(fate);
      assertThatThrownBy(() -> tracker.add(SNAPSHOT, List.of(key))).isInstanceOf(Died.class);
      tracker.add(SNAPSHOT, List.of(key));
      assertThat(state().references()).isEqualTo(Map.of(SNAPSHOT, NORMAL, key, NORMAL));
      store.atNextWrite(fate);
      assertThatThrownBy(() -> tracker.remove(SNAPSHOT, key)).isInstanceOf(Died.class);
      tracker.remove(SNAPSHOT, key);
      assertThat(state().references()).isEqualTo(Map.of(SNAPSHOT, NORMAL));
      assertThat(state().count()).isEqualTo(1);
    }
  }

  @Test
  void aWriteThatArrivesLateIsMadeStaleByTheUndo() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT));
    long version = state().version();
    store.atNextWrite(Fate.DIES_BEFORE); // the answer did not come in time
    assertThatThrownBy(() -> tracker.add(SNAPSHOT, List.of("a"))).isInstanceOf(Died.class);
    assertThat(tracker.remove(SNAPSHOT, "a")).isEqualTo(RemoveResult.REMAINING);
    Optional<RawObject> undone = memory.raw(OBJECT);
    assertThat(
            memory.write(
                OBJECT, new TrackerWrite.Update(version, Map.of(), 2, Map.of("a", NORMAL))))
        .as("the late write")
        .isEmpty();
    assertThat(memory.raw(OBJECT)).isEqualTo(undone);
  }

  // Many threads of one process

  @Test
  void threadsShareWrites() throws Exception {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT));
    CountDownLatch firstIsWriting = new CountDownLatch(1);
    CountDownLatch allWait = new CountDownLatch(1);
    interfere(
        () -> {
          firstIsWriting.countDown();
          await(allWait);
        });
    ExecutorService threads = Executors.newFixedThreadPool(65);
    try {
      Future<?> first = threads.submit(() -> tracker.add(SNAPSHOT, List.of("first")));
      await(firstIsWriting);
      List<Future<AddResult>> adding = new ArrayList<>();
      List<Thread> waiting = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        String key = "csi-vol-" + i;
        adding.add(
            threads.submit(
                () -> {
                  synchronized (waiting) {
                    waiting.add(Thread.currentThread());
                  }
                  return tracker.add(SNAPSHOT, List.of(SNAPSHOT, key));
                }));
      }
      awaitBlocked(waiting, 64);
      memory.takeCalls();
      allWait.countDown();
      first.get();
      for (int i = 0; i < 64; i++) {
        assertThat(adding.get(i).get().added()).containsExactly("csi-vol-" + i);
      }
      assertThat(state().count()).isEqualTo(66);
      assertThat(memory.takeCalls()).containsExactly("write", "write", "readAll");
    } finally {
      threads.shutdownNow();
    }
  }

  private static void awaitBlocked(List<Thread> threads, int count) {
    while (true) {
      synchronized (threads) {
        if (threads.size() == count
            && threads.stream().allMatch(thread -> thread.getState() == Thread.State.WAITING)) {
          return;
        }
      }
      Thread.onSpinWait();
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void oneThreadsDamagedKeyDoesNotFailTheOthers() throws Exception {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, "bad"));
    RawObject sound = memory.raw(OBJECT).orElseThrow();
    memory.putRaw(
        OBJECT,
        new RawObject(
            sound.xattrs(), sound.data(), Map.of(SNAPSHOT, new byte[] {1}, "bad", new byte[] {7})));
    CountDownLatch allWait = new CountDownLatch(1);
    interfere(() -> await(allWait));
    ExecutorService threads = Executors.newFixedThreadPool(10);
    try {
      List<Thread> waiting = new ArrayList<>();
      List<Future<?>> results = new ArrayList<>();
      for (String key : List.of("first", "a", "bad", "b")) {
        results.add(
            threads.submit(
                () -> {
                  synchronized (waiting) {
                    waiting.add(Thread.currentThread());
                  }
                  return tracker.remove(SNAPSHOT, key);
                }));
      }
      awaitBlocked(waiting, 4);
      allWait.countDown();
      assertThat(results.get(0).get()).isEqualTo(RemoveResult.REMAINING);
      assertThat(results.get(1).get()).isEqualTo(RemoveResult.REMAINING);
      assertThatThrownBy(results.get(2)::get)
          .cause()
          .isInstanceOf(TrackerFormatException.class)
          .hasMessageContaining("0x07");
      assertThat(results.get(3).get()).isEqualTo(RemoveResult.REMAINING);
    } finally {
      threads.shutdownNow();
    }
  }
}
