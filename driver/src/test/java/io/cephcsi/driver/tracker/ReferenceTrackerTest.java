package io.cephcsi.driver.tracker;

import static io.cephcsi.driver.tracker.ReferenceState.MASK;
import static io.cephcsi.driver.tracker.ReferenceState.NORMAL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.RawObject;
import io.cephcsi.driver.tracker.InterferingStore.Died;
import io.cephcsi.driver.tracker.InterferingStore.Fate;
import io.cephcsi.driver.volume.VolumeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class ReferenceTrackerTest {
  private static final String SNAPSHOT =
      "0001-0003-bar-0000000000000001-13a198ab-7cc0-4c98-9f50-ced4cf263bf9";
  private static final String OBJECT = "rt-backingsnapshot-" + SNAPSHOT;
  private static final String SHALLOW_1 = "csi-vol-24776772-523e-4873-a6b8-4e9657f54dc3";
  private static final String SHALLOW_2 = "csi-vol-057297b1-4af5-4753-b56a-dca2ffa2b036";

  private final MemoryTrackerStore memory = new MemoryTrackerStore();
  private final InterferingStore store = new InterferingStore(memory);
  private final List<Integer> pauses = new ArrayList<>();
  private final ReferenceTracker tracker = new ReferenceTracker(store, pauses::add);
  private final ReferenceTracker other = new ReferenceTracker(memory, failures -> {});

  private TrackerState state() {
    return tracker.read(SNAPSHOT).orElseThrow();
  }

  private void interfere(Runnable... calls) {
    for (Runnable call : calls) {
      store.beforeNextCall(
          () -> {
            call.run();
            memory.takeCalls();
          });
    }
  }

  // The bytes of ceph-csi

  @Test
  void theSameCallsLeaveTheSameBytesAsCephCsi() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, SHALLOW_1));
    assertBytes("CephFS shallow CreateVolume shallow-1 from fsnap-1");
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, SHALLOW_2));
    assertBytes("CephFS shallow CreateVolume shallow-2 from fsnap-1");
    assertThat(tracker.mask(SNAPSHOT, SNAPSHOT)).isEqualTo(RemoveResult.REMAINING);
    assertBytes("CephFS DeleteSnapshot fsnap-1 while two shallow volumes refer to it");
    assertThat(tracker.remove(SNAPSHOT, SHALLOW_1)).isEqualTo(RemoveResult.REMAINING);
    assertBytes("CephFS DeleteVolume shallow-1");
    assertThat(tracker.remove(SNAPSHOT, SHALLOW_2)).isEqualTo(RemoveResult.LAST);
    assertThat(Golden.trackers("CephFS DeleteVolume shallow-2: the last reference")).isEmpty();
    assertThat(memory.raw(OBJECT)).isEmpty();
  }

  private void assertBytes(String call) {
    Map<String, RawObject> golden = Golden.trackers(call);
    assertThat(golden).containsOnlyKeys(OBJECT);
    assertThat(memory.raw(OBJECT)).as(call).contains(golden.get(OBJECT));
  }

  // What each operation does

  @Test
  void addingMakesTheTrackerAndTellsWhatIsNew() {
    assertThat(tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a")))
        .isEqualTo(new AddResult(Set.of(SNAPSHOT, "a"), Set.of()));
    assertThat(tracker.add(SNAPSHOT, List.of(SNAPSHOT, "b")))
        .isEqualTo(new AddResult(Set.of("b"), Set.of()));
    assertThat(tracker.add(SNAPSHOT, List.of("a", "b")))
        .isEqualTo(new AddResult(Set.of(), Set.of()));
    assertThat(state().count()).isEqualTo(3);
    assertThat(state().references()).isEqualTo(Map.of(SNAPSHOT, NORMAL, "a", NORMAL, "b", NORMAL));
  }

  @Test
  void aMaskedKeyStaysMasked() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a"));
    tracker.mask(SNAPSHOT, SNAPSHOT);
    assertThat(tracker.add(SNAPSHOT, List.of(SNAPSHOT, "b")))
        .isEqualTo(new AddResult(Set.of("b"), Set.of(SNAPSHOT)));
    assertThat(state().count()).isEqualTo(2);
    assertThat(state().reference(SNAPSHOT)).isEqualTo(MASK);
  }

  @Test
  void maskingAnAbsentKeyBlocksIt() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT));
    assertThat(tracker.mask(SNAPSHOT, "late")).isEqualTo(RemoveResult.REMAINING);
    assertThat(tracker.mask(SNAPSHOT, "late")).isEqualTo(RemoveResult.REMAINING);
    assertThat(tracker.add(SNAPSHOT, List.of("late")))
        .isEqualTo(new AddResult(Set.of(), Set.of("late")));
    assertThat(state().count()).isEqualTo(1);
    assertThat(tracker.remove(SNAPSHOT, "late")).isEqualTo(RemoveResult.REMAINING);
    assertThat(state().references()).isEqualTo(Map.of(SNAPSHOT, NORMAL));
    assertThat(state().count()).isEqualTo(1);
  }

  @Test
  void removingAnAbsentKeyChangesNothing() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT));
    RawObject before = memory.raw(OBJECT).orElseThrow();
    assertThat(tracker.remove(SNAPSHOT, "never")).isEqualTo(RemoveResult.REMAINING);
    assertThat(memory.raw(OBJECT)).contains(before);
  }

  @Test
  void theLastReferenceTakesTheTrackerWithIt() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a"));
    assertThat(tracker.remove(SNAPSHOT, "a")).isEqualTo(RemoveResult.REMAINING);
    assertThat(tracker.mask(SNAPSHOT, SNAPSHOT)).isEqualTo(RemoveResult.LAST);
    assertThat(memory.raw(OBJECT)).isEmpty();
    assertThat(tracker.remove(SNAPSHOT, "a")).isEqualTo(RemoveResult.MISSING);
    assertThat(tracker.mask(SNAPSHOT, SNAPSHOT)).isEqualTo(RemoveResult.MISSING);
    assertThat(memory.raw(OBJECT)).isEmpty();
    assertThat(tracker.read(SNAPSHOT)).isEmpty();
  }

  @Test
  void theLastReferenceOfASnapshotWhoseOwnWasNeverMaskedIsToldApart() {
    tracker.add(SNAPSHOT, List.of("a"));
    assertThat(tracker.remove(SNAPSHOT, "a")).isEqualTo(RemoveResult.LAST_UNMASKED);
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a"));
    tracker.remove(SNAPSHOT, SNAPSHOT); // as ceph-csi may, with that of a volume
    assertThat(tracker.remove(SNAPSHOT, "a")).isEqualTo(RemoveResult.LAST_UNMASKED);
    assertThat(memory.raw(OBJECT)).isEmpty();
  }

  @Test
  void trackersAreListedBySnapshot() {
    tracker.add("b", List.of("b"));
    tracker.add("a", List.of("a"));
    assertThat(tracker.snapshotIds()).containsExactly("a", "b");
  }

  @Test
  void whatCannotBeAKeyIsRefusedBeforeTheCluster() {
    for (String bad : List.of("", "a\0b")) {
      assertThatThrownBy(() -> tracker.add(SNAPSHOT, List.of(bad)))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> tracker.remove(SNAPSHOT, bad))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> tracker.mask(bad, "a")).isInstanceOf(IllegalArgumentException.class);
    }
    assertThatThrownBy(() -> tracker.add(SNAPSHOT, List.of()))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(memory.takeCalls()).isEmpty();
  }

  // Round trips

  @Test
  void theSteadyStateCostsOneRoundTrip() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT));
    assertThat(memory.takeCalls()).as("a new snapshot").containsExactly("write");
    for (int i = 0; i < 500; i++) {
      tracker.add(SNAPSHOT, List.of(SNAPSHOT, "csi-vol-" + i));
      assertThat(memory.takeCalls()).containsExactly("write");
    }
    tracker.mask(SNAPSHOT, SNAPSHOT);
    assertThat(memory.takeCalls()).containsExactly("write");
    for (int i = 0; i < 499; i++) {
      tracker.remove(SNAPSHOT, "csi-vol-" + i);
      assertThat(memory.takeCalls()).containsExactly("write");
    }
    tracker.remove(SNAPSHOT, "csi-vol-499");
    assertThat(memory.takeCalls())
        .as("the last one is made sure of")
        .containsExactly("readAll", "write");
  }

  @Test
  void aTrackerThatIsNotRememberedIsReadOnce() {
    other.add(SNAPSHOT, List.of(SNAPSHOT, "a"));
    memory.takeCalls();
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, "b"));
    assertThat(memory.takeCalls()).containsExactly("read", "write");
    tracker.remove(SNAPSHOT, "a");
    assertThat(memory.takeCalls()).containsExactly("write");
  }

  @Test
  void whatAnotherProcessWroteIsReadOnce() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a"));
    other.add(SNAPSHOT, List.of("b"));
    memory.takeCalls();
    assertThat(tracker.add(SNAPSHOT, List.of(SNAPSHOT, "c")).added()).containsExactly("c");
    assertThat(memory.takeCalls()).containsExactly("write", "read", "write");
    assertThat(pauses).as("no competition, so no pause").isEmpty();
    assertThat(state().count()).isEqualTo(4);
  }

  @Test
  void aWrongGuessIsReadOnce() {
    other.add(SNAPSHOT, List.of(SNAPSHOT, "a"));
    tracker.add(SNAPSHOT, List.of("b"));
    memory.takeCalls();
    assertThat(tracker.add(SNAPSHOT, List.of("a")).added()).isEmpty();
    assertThat(memory.takeCalls()).containsExactly("write", "read");
    tracker.remove(SNAPSHOT, "never");
    assertThat(memory.takeCalls()).containsExactly("write", "read");
    tracker.add(SNAPSHOT, List.of("c"));
    assertThat(memory.takeCalls()).as("what was read is remembered").containsExactly("write");
  }

  @Test
  void whatIsRememberedToBeSoIsReadAndNotWritten() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a"));
    memory.takeCalls();
    assertThat(tracker.add(SNAPSHOT, List.of("a")).added()).isEmpty();
    assertThat(memory.takeCalls()).containsExactly("read");
    tracker.remove(SNAPSHOT, "never");
    assertThat(memory.takeCalls()).containsExactly("read");
  }

  @Test
  void aTrackerThatIsKnownWholeHasNoKeyToCompare() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT));
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a"));
    tracker.add(SNAPSHOT, List.of("a"));
    tracker.remove(SNAPSHOT, "a");
    tracker.add(SNAPSHOT, List.of("b"));
    tracker.mask(SNAPSHOT, SNAPSHOT);
    assertThat(tracker.add(SNAPSHOT, List.of(SNAPSHOT)).masked()).containsExactly(SNAPSHOT);
    assertThat(memory.takeCompared()).isEmpty();
    other.add(SNAPSHOT, List.of("c"));
    assertThat(tracker.add(SNAPSHOT, List.of("d", "c")).added()).containsExactly("d");
    assertThat(memory.takeCompared()).as("both were read").isEmpty();
    tracker.add(SNAPSHOT, List.of("e"));
    assertThat(memory.takeCompared()).as("another may have added it").containsExactly("e");
    assertThat(state().references())
        .isEqualTo(Map.of(SNAPSHOT, MASK, "b", NORMAL, "c", NORMAL, "d", NORMAL, "e", NORMAL));
  }

  @Test
  void moreKeysThanAreRememberedAreCompared() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT));
    for (int i = 1; i <= CachedTracker.MOST_KEYS; i++) {
      tracker.add(SNAPSHOT, List.of("csi-vol-" + i));
    }
    assertThat(memory.takeCompared()).isEmpty();
    tracker.add(SNAPSHOT, List.of("more"));
    tracker.remove(SNAPSHOT, "csi-vol-1");
    assertThat(memory.takeCompared()).containsExactlyInAnyOrder("more", "csi-vol-1");
    assertThat(state().count()).isEqualTo(CachedTracker.MOST_KEYS + 1);
  }

  @Test
  void whatIsRememberedIsNotBelievedWithoutTheCluster() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a"));
    other.mask(SNAPSHOT, SNAPSHOT);
    other.remove(SNAPSHOT, "a");
    assertThat(tracker.add(SNAPSHOT, List.of(SNAPSHOT)))
        .isEqualTo(new AddResult(Set.of(SNAPSHOT), Set.of()));
    assertThat(memory.raw(OBJECT)).isPresent();
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

  // Damage

  @Test
  void aCountThatIsTooLowIsNotBelievedForTheLastReference() {
    tracker.add(SNAPSHOT, List.of("a"));
    RawObject sound = memory.raw(OBJECT).orElseThrow();
    RawObject wrong =
        new RawObject(
            sound.xattrs(), sound.data(), Map.of("a", new byte[] {1}, "b", new byte[] {1}));
    for (ReferenceTracker client : List.of(tracker, other)) {
      memory.putRaw(OBJECT, wrong);
      assertThatThrownBy(() -> client.remove(SNAPSHOT, "a"))
          .isInstanceOf(TrackerFormatException.class)
          .hasMessageContaining("counts 1 references and has 2");
      assertThat(memory.raw(OBJECT)).contains(wrong);
    }
  }

  @Test
  void anUnknownVersionIsAnErrorThatChangesNothing() {
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a"));
    RawObject sound = memory.raw(OBJECT).orElseThrow();
    RawObject future =
        new RawObject(
            Map.of("csi.ceph.com/rt-version", new byte[] {0, 0, 0, 2}), sound.data(), sound.omap());
    memory.putRaw(OBJECT, future);
    List<Callable<?>> calls =
        List.of(
            () -> tracker.add(SNAPSHOT, List.of(SNAPSHOT)),
            () -> tracker.add(SNAPSHOT, List.of("b")),
            () -> tracker.remove(SNAPSHOT, "a"),
            () -> tracker.mask(SNAPSHOT, SNAPSHOT),
            () -> tracker.read(SNAPSHOT));
    for (Callable<?> call : calls) {
      assertThatThrownBy(call::call)
          .isInstanceOf(TrackerFormatException.class)
          .hasMessageContaining("version 2");
      assertThat(memory.raw(OBJECT)).contains(future);
    }
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
  void whatTheMaskSaidIsKeptBeforeItGoesWithTheTracker() {
    List<String> kept = new ArrayList<>();
    tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a", "b"));
    tracker.mask(SNAPSHOT, SNAPSHOT);
    assertThat(tracker.remove(SNAPSHOT, "a", () -> kept.add("a")))
        .isEqualTo(RemoveResult.REMAINING);
    assertThat(kept).isEmpty();
    store.atNextWrite(Fate.DIES_AFTER);
    assertThatThrownBy(() -> tracker.remove(SNAPSHOT, "b", () -> kept.add("b")))
        .isInstanceOf(Died.class);
    assertThat(kept).containsExactly("b");
    assertThat(tracker.remove(SNAPSHOT, "b", () -> kept.add("b"))).isEqualTo(RemoveResult.MISSING);

    tracker.add(SNAPSHOT, List.of(SNAPSHOT, "a"));
    tracker.mask(SNAPSHOT, SNAPSHOT);
    assertThatThrownBy(
            () ->
                tracker.remove(
                    SNAPSHOT,
                    "a",
                    () -> {
                      throw new Died();
                    }))
        .isInstanceOf(Died.class);
    assertThat(state().reference("a")).isEqualTo(NORMAL);
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
