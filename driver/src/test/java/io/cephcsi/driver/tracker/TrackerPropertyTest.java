package io.cephcsi.driver.tracker;

import static io.cephcsi.driver.tracker.ReferenceState.MASK;
import static io.cephcsi.driver.tracker.ReferenceState.NORMAL;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.tracker.InterferingStore.Died;
import io.cephcsi.driver.tracker.InterferingStore.Fate;
import io.cephcsi.testing.Tries;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Three processes on one tracker, in one thread: before any call to the store, others get ahead
 * with calls of their own, and each may die before or after its write. What they leave and what
 * they are told is compared with the table of formats, call by call.
 */
class TrackerPropertyTest {
  private static final String SNAPSHOT = "snapshot";
  private static final List<String> KEYS = List.of(SNAPSHOT, "a", "b", "c");
  private static final List<Fate> FATES =
      Stream.concat(
              Stream.of(Fate.DIES_BEFORE, Fate.DIES_AFTER),
              Stream.generate(() -> Fate.LIVES).limit(8))
          .toList();

  private enum Kind {
    ADD,
    REMOVE,
    MASK
  }

  /**
   * A call of one process.
   *
   * @param ahead calls of others that get ahead, before the first, second, ... round trip
   */
  private record Call(int client, Kind kind, List<String> keys, Fate fate, List<Call> ahead) {}

  private static Call call(Tries values, int depth) {
    Kind kind = values.oneOf(List.of(Kind.values()));
    return new Call(
        values.between(0, 2),
        kind,
        values.someOf(KEYS, 1, kind == Kind.ADD ? 2 : 1),
        values.oneOf(FATES),
        depth == 0 ? List.of() : values.list(0, 2, () -> call(values, depth - 1)));
  }

  @Test
  void everyInterleavingIsOneOfTheTable() {
    Set<Integer> left = new HashSet<>();
    Tries.times(
        2000,
        values -> {
          World world = new World();
          values.list(0, 25, () -> call(values, 2)).forEach(world::run);
          left.add(world.model.size());
          world.finish();
        });
    assertThat(left).as("numbers of references at the end").contains(0, 1, 2, 3, 4);
  }

  /** The processes, the store, and what must be in it. */
  private static final class World {
    private final MemoryTrackerStore memory = new MemoryTrackerStore();
    private final List<InterferingStore> stores = new ArrayList<>();
    private final List<ReferenceTracker> clients = new ArrayList<>();
    private final Set<Integer> busy = new HashSet<>();
    private final Map<String, ReferenceState> model = new HashMap<>();

    World() {
      for (int i = 0; i < 3; i++) {
        stores.add(new InterferingStore(memory));
        clients.add(new ReferenceTracker(stores.get(i), failures -> {}));
      }
    }

    void run(Call call) {
      if (!busy.add(call.client())) {
        return; // a process waits for its own calls
      }
      InterferingStore store = stores.get(call.client());
      call.ahead().forEach(other -> store.beforeNextCall(() -> run(other)));
      store.atNextWrite(call.fate());
      try {
        Object told = carryOut(call);
        assertThat(told).as("%s", call).isEqualTo(expected(call));
      } catch (Died e) {
        died(call);
      }
      store.forget();
      busy.remove(call.client());
      check(call);
    }

    private Object carryOut(Call call) {
      ReferenceTracker tracker = clients.get(call.client());
      return switch (call.kind()) {
        case ADD -> tracker.add(SNAPSHOT, call.keys());
        case REMOVE -> tracker.remove(SNAPSHOT, call.keys().get(0));
        case MASK -> tracker.mask(SNAPSHOT, call.keys().get(0));
      };
    }

    /** Its write happened or not; another process takes its place, which remembers nothing. */
    private void died(Call call) {
      clients.set(call.client(), new ReferenceTracker(stores.get(call.client()), failures -> {}));
      Map<String, ReferenceState> found = stored().map(TrackerState::references).orElse(Map.of());
      if (call.fate() == Fate.DIES_AFTER && !found.equals(model)) {
        expected(call);
      }
    }

    private Optional<TrackerState> stored() {
      return memory.readAll(TrackerCodec.name(SNAPSHOT));
    }

    /** Applies a call to the model and tells what its caller must be told. */
    private Object expected(Call call) {
      if (call.kind() == Kind.ADD) {
        Set<String> added = new HashSet<>(call.keys());
        added.removeAll(model.keySet());
        Set<String> masked = new HashSet<>(call.keys());
        masked.removeIf(key -> model.get(key) != MASK);
        added.forEach(key -> model.put(key, NORMAL));
        return new AddResult(added, masked);
      }
      if (model.isEmpty()) {
        return RemoveResult.MISSING;
      }
      if (call.kind() == Kind.MASK) {
        model.put(call.keys().get(0), MASK);
      } else {
        model.remove(call.keys().get(0));
      }
      if (model.containsValue(NORMAL)) {
        return RemoveResult.REMAINING;
      }
      boolean masked = model.get(SNAPSHOT) == MASK;
      model.clear();
      return masked ? RemoveResult.LAST : RemoveResult.LAST_UNMASKED;
    }

    private void check(Call call) {
      Optional<TrackerState> state = stored();
      if (model.isEmpty()) {
        assertThat(state).as("after %s", call).isEmpty();
      } else {
        assertThat(state.orElseThrow().references()).as("after %s", call).isEqualTo(model);
        assertThat(state.get().count())
            .isPositive()
            .isEqualTo(model.values().stream().filter(NORMAL::equals).count());
      }
    }

    /** After the last reference nothing is left. */
    void finish() {
      KEYS.forEach(key -> run(new Call(0, Kind.REMOVE, List.of(key), Fate.LIVES, List.of())));
      assertThat(stored()).isEmpty();
    }
  }
}
