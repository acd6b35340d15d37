package io.cephcsi.driver.tracker;

import static io.cephcsi.driver.tracker.ReferenceState.MASK;
import static io.cephcsi.driver.tracker.ReferenceState.NORMAL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.RawObject;
import io.cephcsi.driver.tracker.InterferingStore.Died;
import io.cephcsi.driver.tracker.InterferingStore.Fate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** What the tracker keeps, and what it answers. */
class ReferenceTrackerTest extends ReferenceTrackerCase {
  private static final String SHALLOW_1 = "csi-vol-24776772-523e-4873-a6b8-4e9657f54dc3";
  private static final String SHALLOW_2 = "csi-vol-057297b1-4af5-4753-b56a-dca2ffa2b036";

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
}
