package io.cephcsi.driver.tracker;

import static io.cephcsi.driver.tracker.ReferenceState.ABSENT;
import static io.cephcsi.driver.tracker.ReferenceState.MASK;
import static io.cephcsi.driver.tracker.ReferenceState.NORMAL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.RawObject;
import io.cephcsi.driver.tracker.TrackerWrite.Create;
import io.cephcsi.driver.tracker.TrackerWrite.Remove;
import io.cephcsi.driver.tracker.TrackerWrite.Update;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What every store must do, the fake and the real one. */
abstract class TrackerStoreContract {
  private static final Map<String, byte[]> VERSION_1 =
      Map.of("csi.ceph.com/rt-version", new byte[] {0, 0, 0, 1});
  private static final byte[] ONE = {0, 0, 0, 1};
  private static final byte[] NORMAL_BYTE = {1};
  private static final byte[] MASK_BYTE = {2};

  private final String name = "rt-backingsnapshot-" + UUID.randomUUID();

  abstract TrackerStore store();

  /** Replaces an object by an independent way. */
  abstract void putRaw(String object, RawObject bytes);

  /** All bytes of an object by an independent way. */
  abstract Optional<RawObject> raw(String object);

  private long create(long count, Map<String, ReferenceState> references) {
    return store().write(name, new Create(count, references)).orElseThrow();
  }

  private TrackerState all() {
    return store().readAll(name).orElseThrow();
  }

  @Test
  void whatIsCreatedHasTheBytesOfCephCsi() {
    create(1, Map.of("a", NORMAL, "b", MASK));
    assertThat(raw(name))
        .contains(new RawObject(VERSION_1, ONE, Map.of("a", NORMAL_BYTE, "b", MASK_BYTE)));
  }

  @Test
  void aTrackerIsCreatedOnce() {
    create(1, Map.of("a", NORMAL));
    assertThat(store().write(name, new Create(1, Map.of("b", NORMAL)))).isEmpty();
    assertThat(all().references()).isEqualTo(Map.of("a", NORMAL));
  }

  @Test
  void aMissingTrackerIsEmptyAndCannotBeChanged() {
    assertThat(store().read(name, Set.of("a"))).isEmpty();
    assertThat(store().readAll(name)).isEmpty();
    assertThat(store().write(name, new Update(1, Map.of(), 1, Map.of("a", NORMAL)))).isEmpty();
    assertThat(store().write(name, new Remove(1, Map.of()))).isEmpty();
    assertThat(raw(name)).isEmpty();
  }

  @Test
  void readingGivesTheRequestedKeysAndTheVersionOfTheLastWrite() {
    long version = create(1, Map.of("a", NORMAL, "b", MASK));
    assertThat(store().read(name, Set.of("a", "absent")))
        .contains(new TrackerState(version, 1, Map.of("a", NORMAL)));
    assertThat(all()).isEqualTo(new TrackerState(version, 1, Map.of("a", NORMAL, "b", MASK)));
  }

  @Test
  void anUpdateAddsRemovesAndMasks() {
    long version = create(2, Map.of("a", NORMAL, "b", NORMAL, "c", MASK));
    Update update = new Update(version, Map.of(), 300, Map.of("a", ABSENT, "b", MASK, "d", NORMAL));
    long next = store().write(name, update).orElseThrow();
    assertThat(next).isNotEqualTo(version);
    assertThat(raw(name))
        .contains(
            new RawObject(
                VERSION_1,
                new byte[] {0, 0, 1, 44},
                Map.of("b", MASK_BYTE, "c", MASK_BYTE, "d", NORMAL_BYTE)));
  }

  @Test
  void theVersionOfAnUpdateServesTheNext() {
    long version = create(1, Map.of("a", NORMAL));
    for (int i = 0; i < 10; i++) {
      version =
          store()
              .write(name, new Update(version, Map.of(), i + 2, Map.of("k" + i, NORMAL)))
              .orElseThrow();
    }
    assertThat(all().version()).isEqualTo(version);
    assertThat(all().count()).isEqualTo(11);
    assertThat(all().normalReferences()).isEqualTo(11);
  }

  @Test
  void aStaleWriteChangesNothing() {
    long stale = create(1, Map.of("a", NORMAL));
    long version =
        store().write(name, new Update(stale, Map.of(), 2, Map.of("b", NORMAL))).orElseThrow();
    RawObject before = raw(name).orElseThrow();
    assertThat(store().write(name, new Update(stale, Map.of(), 1, Map.of("b", ABSENT)))).isEmpty();
    assertThat(store().write(name, new Remove(stale, Map.of()))).isEmpty();
    assertThat(store().write(name, new Update(version + 1, Map.of(), 1, Map.of()))).isEmpty();
    assertThat(raw(name)).contains(before);
    assertThat(all().version()).isEqualTo(version);
  }

  @Test
  void anUpdateOfNothingMakesOlderVersionsStale() {
    long version = create(1, Map.of("a", NORMAL));
    RawObject before = raw(name).orElseThrow();
    assertThat(store().write(name, new Update(version, Map.of(), 1, Map.of()))).isPresent();
    assertThat(raw(name)).contains(before);
    assertThat(store().write(name, new Remove(version, Map.of()))).isEmpty();
  }

  @Test
  void aWrongExpectationChangesNothing() {
    long version = create(1, Map.of("a", NORMAL, "b", MASK));
    RawObject before = raw(name).orElseThrow();
    List<Map<String, ReferenceState>> wrong =
        List.of(
            Map.of("a", ABSENT),
            Map.of("a", MASK),
            Map.of("b", NORMAL),
            Map.of("c", NORMAL),
            Map.of("a", NORMAL, "b", ABSENT));
    for (Map<String, ReferenceState> expected : wrong) {
      assertThat(store().write(name, new Update(version, expected, 2, Map.of("c", NORMAL))))
          .as("%s", expected)
          .isEmpty();
      assertThat(store().write(name, new Remove(version, expected))).as("%s", expected).isEmpty();
    }
    assertThat(raw(name)).contains(before);
    Map<String, ReferenceState> right = Map.of("a", NORMAL, "b", MASK, "c", ABSENT);
    assertThat(store().write(name, new Update(version, right, 2, Map.of("c", NORMAL)))).isPresent();
  }

  @Test
  void aTrackerThatIsMadeAnewHasNoOldVersion() {
    long version = create(1, Map.of("a", NORMAL));
    assertThat(store().write(name, new Remove(version, Map.of()))).isPresent();
    assertThat(raw(name)).isEmpty();
    long next = create(1, Map.of("a", NORMAL));
    assertThat(next).isNotEqualTo(version);
    assertThat(store().write(name, new Remove(version, Map.of()))).isEmpty();
  }

  @Test
  void aLargeTrackerIsReadWhole() {
    Map<String, ReferenceState> references = new HashMap<>();
    for (int i = 0; i < 500; i++) {
      references.put("csi-vol-" + i + "-ä\uFF5E\uD83D\uDE00", i % 2 == 0 ? NORMAL : MASK);
    }
    long version = create(250, references);
    for (int round = 1; round < 6; round++) {
      Map<String, ReferenceState> more = new HashMap<>();
      for (int i = 0; i < 500; i++) {
        more.put("round-" + round + "-" + i + (i % 3 == 0 ? "\uFF5E" : "\uD83D\uDE00"), NORMAL);
      }
      references.putAll(more);
      version =
          store()
              .write(name, new Update(version, Map.of(), 250 + round * 500L, more))
              .orElseThrow();
    }
    TrackerState state = all();
    assertThat(state.references()).isEqualTo(references);
    assertThat(state.count()).isEqualTo(state.normalReferences());
  }

  @Test
  void trackersAreFoundByTheirPrefix() {
    create(1, Map.of("a", NORMAL));
    putRaw("csi.snap." + name, new RawObject(Map.of(), new byte[0], Map.of()));
    assertThat(store().names("rt-backingsnapshot-")).contains(name);
    assertThat(store().names("rt-backingsnapshot-")).noneMatch(any -> any.startsWith("csi."));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "CephFS shallow CreateVolume shallow-1 from fsnap-1",
        "CephFS shallow CreateVolume shallow-2 from fsnap-1",
        "CephFS DeleteSnapshot fsnap-1 while two shallow volumes refer to it",
        "CephFS DeleteVolume shallow-1"
      })
  void whatCephCsiWroteIsRead(String call) {
    RawObject golden = Golden.trackers(call).values().iterator().next();
    putRaw(name, golden);
    TrackerState state = all();
    assertThat(state.count()).isEqualTo(golden.data()[3]).isEqualTo(state.normalReferences());
    assertThat(state.references().keySet()).isEqualTo(golden.omap().keySet());
    golden
        .omap()
        .forEach(
            (key, value) ->
                assertThat(state.reference(key)).isEqualTo(value[0] == 1 ? NORMAL : MASK));
    assertThat(store().write(name, new Update(state.version(), Map.of(), state.count(), Map.of())))
        .isPresent();
    assertThat(raw(name)).contains(golden);
  }

  @Test
  void otherVersionsAndDamageAreErrors() {
    Map<String, byte[]> a = Map.of("a", NORMAL_BYTE);
    String xattr = "csi.ceph.com/rt-version";
    Map<RawObject, String> damaged =
        Map.of(
            new RawObject(Map.of(xattr, new byte[] {0, 0, 0, 2}), ONE, a), "version 2",
            new RawObject(Map.of(xattr, new byte[] {1, 0, 0, 0}), ONE, a), "version 16777216",
            new RawObject(Map.of(xattr, new byte[] {1}), ONE, a), "no valid",
            new RawObject(Map.of(), ONE, a), "no valid",
            new RawObject(VERSION_1, new byte[] {0, 0, 1}, a), "shorter",
            new RawObject(VERSION_1, new byte[] {0, 0, 0, 1, 0}, a), "longer",
            new RawObject(VERSION_1, new byte[0], a), "shorter",
            new RawObject(VERSION_1, new byte[4], a), "counts no reference",
            new RawObject(VERSION_1, ONE, Map.of("a", new byte[] {3})), "0x03",
            new RawObject(VERSION_1, ONE, Map.of("a", new byte[] {1, 1})), "0x0101");
    damaged.forEach(
        (bytes, problem) -> {
          putRaw(name, bytes);
          assertThatThrownBy(() -> store().read(name, Set.of("a")))
              .as("%s", bytes)
              .isInstanceOf(TrackerFormatException.class)
              .hasMessageContaining(name)
              .hasMessageContaining(problem);
          assertThatThrownBy(() -> store().readAll(name))
              .isInstanceOf(TrackerFormatException.class);
          assertThat(raw(name)).as("unchanged").contains(bytes);
        });
  }
}
